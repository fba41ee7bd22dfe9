#include "cli/profile/filter.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "cli/profile/group/time_slices.h"

namespace swipr::profile {

namespace {

using std::chrono::nanoseconds;

bool is_wanted(const Thread& thread, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&thread](const std::string& pattern) {
    return pattern == std::to_string(thread.tid.value) ||
           ::fnmatch(pattern.c_str(), thread.name.c_str(), 0) == 0;
  });
}

nanoseconds part_of(nanoseconds time, double share) {
  return nanoseconds(std::llround(static_cast<double>(time.count()) * share));
}

// Returns false if no part of the sample is inside.
bool clip(Sample& sample, nanoseconds from, nanoseconds to) {
  const nanoseconds begin = sample.time - sample.wall;
  const nanoseconds inside = std::min(sample.time, to) - std::max(begin, from);
  if (inside == sample.wall && sample.time <= to && begin >= from) return true;
  if (inside <= nanoseconds(0)) return false;
  const double share = std::chrono::duration<double>(inside) / sample.wall;
  sample.time = std::min(sample.time, to);
  sample.wall = inside;
  sample.cpu = part_of(sample.cpu, share);
  sample.runqueue = part_of(sample.runqueue, share);
  sample.ticks =
      static_cast<std::uint64_t>(std::llround(static_cast<double>(sample.ticks) * share));
  return true;
}

// Time since the epoch at which the clock of the recording was 0.
nanoseconds monotonic_zero(const Recording& recording) {
  if (recording.processes.empty()) return nanoseconds(0);
  const Process& first = recording.processes.front();
  return first.start_realtime - first.start_monotonic;
}

template <typename Element>
std::uint32_t count_of(const std::vector<Element>& elements) {
  return static_cast<std::uint32_t>(elements.size());
}

void shift(std::uint32_t& index, std::uint32_t by) {
  if (index != kNone) index += by;
}

// By frame: true if any of its functions matches.
std::vector<bool> matching_frames(const Names& names, const NameMatch& matches) {
  std::vector<bool> result;
  for (const FrameNames& frame : names.frames) {
    result.push_back(std::any_of(frame.begin(), frame.end(), [&matches](const NamedFrame& named) {
      return matches(named.function);
    }));
  }
  return result;
}

bool has_any(const Stack& stack, const std::vector<bool>& matching) {
  return std::any_of(stack.frames.begin(), stack.frames.end(),
                     [&matching](std::uint32_t frame) { return matching[frame]; });
}

void drop_samples_without(Recording& recording, const std::vector<bool>& matching) {
  std::erase_if(recording.samples, [&](const Sample& sample) {
    return sample.stack == kNone || !has_any(recording.stacks[sample.stack], matching);
  });
}

// `gone`: by frame.
void remove_frames(Stack& stack, const std::vector<bool>& gone) {
  const auto is_gone = [&gone](std::uint32_t frame) { return gone[frame]; };
  if (stack.omitted_at != kNone) {
    const auto end = stack.frames.begin() + std::min(stack.omitted_at, count_of(stack.frames));
    stack.omitted_at -=
        static_cast<std::uint32_t>(std::count_if(stack.frames.begin(), end, is_gone));
  }
  std::erase_if(stack.frames, is_gone);
}

// Stacks without frames of a runtime stay as they are.
void keep_frames(Recording& recording, const Names& names, FrameKinds kinds) {
  std::vector<bool> of_runtimes;
  for (std::size_t index = 0; index < recording.frames.size(); ++index) {
    of_runtimes.push_back(is_runtime_frame(recording.frames[index].pc.value) ||
                          names.frames[index].front().language != Language::kNative);
  }
  std::vector<bool> gone = of_runtimes;
  if (kinds == FrameKinds::kLanguage) gone.flip();
  for (Stack& stack : recording.stacks) {
    if (has_any(stack, of_runtimes)) remove_frames(stack, gone);
  }
}

void hide_functions(Recording& recording, Names& names, const NameMatch& matches) {
  std::vector<bool> gone;
  for (FrameNames& frame : names.frames) {
    FrameNames kept;
    std::copy_if(frame.begin(), frame.end(), std::back_inserter(kept),
                 [&matches](const NamedFrame& named) { return !matches(named.function); });
    gone.push_back(kept.empty());
    if (!kept.empty()) frame = std::move(kept);  // no other frame is referenced
  }
  for (Stack& stack : recording.stacks) remove_frames(stack, gone);
}

// Removes the callers of the outermost match from the stacks.
class Focus {
 public:
  Focus(Recording& recording, Names& names, const NameMatch& matches)
      : recording_(recording), names_(names), matches_(matches) {}

  void apply(const std::vector<bool>& matching) {
    for (Stack& stack : recording_.stacks) {
      const auto outermost =
          std::find_if(stack.frames.rbegin(), stack.frames.rend(),
                       [&matching](std::uint32_t frame) { return matching[frame]; });
      if (outermost == stack.frames.rend()) continue;
      stack.frames.erase(outermost.base(), stack.frames.end());
      stack.frames.back() = cut_frame(stack.frames.back());
      if (stack.omitted_at != kNone && stack.omitted_at >= stack.frames.size()) {
        stack.omitted_at = kNone;
      }
    }
  }

 private:
  // The frame without the functions that the match was inlined into.
  std::uint32_t cut_frame(std::uint32_t frame) {
    const FrameNames& functions = names_.frames[frame];
    const auto match =
        std::find_if(functions.rbegin(), functions.rend(),
                     [this](const NamedFrame& named) { return matches_(named.function); });
    if (match == functions.rbegin()) return frame;
    const auto [place, is_new] = cut_.try_emplace(frame, count_of(recording_.frames));
    if (is_new) {
      FrameNames kept(functions.begin(), match.base());
      recording_.frames.push_back(Frame(recording_.frames[frame]));
      names_.frames.push_back(std::move(kept));
    }
    return place->second;
  }

  Recording& recording_;
  Names& names_;
  const NameMatch& matches_;
  std::unordered_map<std::uint32_t, std::uint32_t> cut_;
};

}  // namespace

void keep_times(Recording& recording, const SampleFilter& filter) {
  if (!filter.from && !filter.to) return;
  const Extent extent = extent_of(recording);
  const nanoseconds from = extent.begin + filter.from.value_or(nanoseconds(0));
  const nanoseconds to = filter.to ? extent.begin + *filter.to : extent.end;
  std::erase_if(recording.samples, [from, to](Sample& sample) { return !clip(sample, from, to); });
}

void keep_threads_and_states(Recording& recording, const SampleFilter& filter) {
  keep_states(recording, filter.states);
  if (filter.threads.empty()) return;
  std::vector<bool> wanted;
  for (const Thread& thread : recording.threads) {
    wanted.push_back(is_wanted(thread, filter.threads));
  }
  std::erase_if(recording.samples,
                [&wanted](const Sample& sample) { return !wanted[sample.thread]; });
}

void merge_threads(Recording& recording) {
  for (Sample& sample : recording.samples) {
    sample.thread = recording.threads[sample.thread].process;
  }
  recording.threads.clear();
  for (std::uint32_t index = 0; index < recording.processes.size(); ++index) {
    const Process& process = recording.processes[index];
    recording.threads.push_back({index, Tid{process.pid.value}, process.command_name});
  }
}

void append(Recording& recording, Recording other, Align align) {
  const std::uint32_t processes = count_of(recording.processes);
  const std::uint32_t modules = count_of(recording.modules);
  const std::uint32_t functions = count_of(recording.functions);
  const std::uint32_t frames = count_of(recording.frames);
  const std::uint32_t stacks = count_of(recording.stacks);
  const std::uint32_t label_sets = count_of(recording.label_sets);
  const std::uint32_t threads = count_of(recording.threads);
  const std::uint32_t traced = count_of(recording.traced);
  const std::uint32_t calls = count_of(recording.calls);
  const std::uint32_t call_sets = count_of(recording.call_sets);
  const std::uint32_t open_calls = count_of(recording.open_calls);
  const nanoseconds moved = align == Align::kBegin
                                ? extent_of(recording).begin - extent_of(other).begin
                                : monotonic_zero(other) - monotonic_zero(recording);
  for (Process& process : other.processes) {
    process.start_monotonic += moved;
    process.moved_by += moved;
  }
  for (Module& module : other.modules) module.process += processes;
  for (Function& function : other.functions) function.process += processes;
  for (Runtime& runtime : other.runtimes) runtime.process += processes;
  for (Frame& frame : other.frames) {
    frame.process += processes;
    shift(frame.module, modules);
    shift(frame.function, functions);
  }
  for (Stack& stack : other.stacks) {
    for (std::uint32_t& frame : stack.frames) frame += frames;
  }
  for (Thread& thread : other.threads) thread.process += processes;
  for (Sample& sample : other.samples) {
    sample.time += moved;
    sample.thread += threads;
    shift(sample.stack, stacks);
    shift(sample.calls, call_sets);
    shift(sample.labels, label_sets);
  }
  for (TracedFunction& function : other.traced) {
    function.process += processes;
    shift(function.frame, frames);
  }
  for (Call& call : other.calls) {
    call.function += traced;
    call.begin += moved;
  }
  for (CallSet& set : other.call_sets) set.first += open_calls;
  for (std::uint32_t& call : other.open_calls) call += calls;
  const auto move_behind = [](auto& into, auto& from) {
    into.insert(into.end(), std::make_move_iterator(from.begin()),
                std::make_move_iterator(from.end()));
  };
  move_behind(recording.processes, other.processes);
  move_behind(recording.modules, other.modules);
  move_behind(recording.functions, other.functions);
  move_behind(recording.runtimes, other.runtimes);
  move_behind(recording.frames, other.frames);
  move_behind(recording.stacks, other.stacks);
  move_behind(recording.label_sets, other.label_sets);
  move_behind(recording.threads, other.threads);
  move_behind(recording.samples, other.samples);
  move_behind(recording.warnings, other.warnings);
  move_behind(recording.traced, other.traced);
  move_behind(recording.calls, other.calls);
  move_behind(recording.call_sets, other.call_sets);
  move_behind(recording.open_calls, other.open_calls);
  append(recording.embedded, std::move(other.embedded), processes);
  std::stable_sort(recording.samples.begin(), recording.samples.end(),
                   [](const Sample& a, const Sample& b) { return a.time < b.time; });
}

void filter_stacks(Recording& recording, Names& names, const StackFilter& filter) {
  if (filter.kinds != FrameKinds::kMixed) keep_frames(recording, names, filter.kinds);
  if (filter.only) drop_samples_without(recording, matching_frames(names, filter.only));
  if (filter.hide) hide_functions(recording, names, filter.hide);
  if (filter.focus) {
    const std::vector<bool> matching = matching_frames(names, filter.focus);
    drop_samples_without(recording, matching);
    Focus(recording, names, filter.focus).apply(matching);
  }
}

void invert_stacks(Recording& recording, Names& names) {
  for (FrameNames& frame : names.frames) std::reverse(frame.begin(), frame.end());
  for (Stack& stack : recording.stacks) {
    std::reverse(stack.frames.begin(), stack.frames.end());
    if (stack.omitted_at != kNone) stack.omitted_at = count_of(stack.frames) - stack.omitted_at;
  }
}

}  // namespace swipr::profile
