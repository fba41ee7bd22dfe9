// Requirements of readers beyond the format of `perf script`:
// * stackcollapse-perf.pl reads the first "blank, digits, blank" of the event line as the thread
// id,
//   Firefox the last one. Thread names must not contain a digit after a blank.
// * stackcollapse-perf.pl sums the periods before the event name, reads 0 as 1, and drops all event
//   names but the first.
// * It and Firefox drop frames whose names begin with "(". It splits names at "->".
// * Firefox ends the module at the first ")". speedscope does not accept blanks in it.
// * Firefox drops samples without frames.
// * speedscope and Firefox derive weights from time stamps, not from periods. speedscope refuses a
//   thread whose time stamps decrease. A run of ticks is therefore written as its first and its
// last
//   tick, which share its weight.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/export/formats/export.h"
#include "cli/export/text/json_text.h"
#include "cli/export/text/text.h"

namespace swipr::exporters {

namespace {
// Limit of cached stacks. A cached stack costs one copy per sample instead of one per frame.
// Recordings with more distinct stacks repeat each of them less often.
constexpr std::size_t kMaxStackBytes = std::size_t{96} << 20;

constexpr std::string_view kNoModule = "[unknown]";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

std::string thread_text(const profile::Thread& thread) {
  std::string name = thread_name(thread);
  for (std::size_t index = 1; index < name.size(); ++index) {
    const bool digit = name[index] >= '0' && name[index] <= '9';
    if (digit && name[index - 1] == ' ') name[index - 1] = '_';
  }
  // "#" starts a comment, "{" makes the file look like JSON, and a blank is not a name.
  if (name[0] == ' ' || name[0] == '#' || name[0] == '{') name[0] = '_';
  return name;
}

std::string function_text(std::string_view function) {
  std::string text = clean_text(function);
  if (text.starts_with('(')) text.insert(0, "::");  // "::(anonymous namespace)::f()"
  replace_all(text, "->", "- >");
  return text;
}

std::string path_text(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  std::string text = clean_text(path);
  std::replace(text.begin(), text.end(), ' ', '_');
  std::replace(text.begin(), text.end(), '(', '[');
  std::replace(text.begin(), text.end(), ')', ']');
  return text.empty() ? std::string(kNoModule) : text;
}

class PerfWriter {
 public:
  PerfWriter(const profile::Recording& recording, const profile::Names& names,
             const Options& options, Sink& sink)
      : recording_(recording), names_(names), options_(options), sink_(sink) {
    frame_lines_.resize(recording.frames.size());
    stack_lines_.resize(recording.stacks.size());
    for (const profile::Thread& thread : recording.threads) {
      const std::int32_t pid = recording.processes[thread.process].pid.value;
      threads_.push_back({fmt::format("{}-T{}     {}/{}     ", thread_text(thread),
                                      thread.tid.value, pid, thread.tid.value),
                          &last_times_[thread.tid]});
    }
  }

  host::Result<void> write() {
    for (const profile::Sample& sample : recording_.samples) {
      write_run(sample);
      if (sink_.failed()) break;
    }
    return sink_.flush();
  }

 private:
  struct ThreadLine {
    std::string start;
    std::chrono::nanoseconds* last_time;  // shared by all threads that readers cannot distinguish
  };

  void write_run(const profile::Sample& sample) {
    std::uint64_t weight = weight_of(sample, options_.weight_or_samples());
    const auto ticks = std::min<std::uint64_t>(sample.ticks, 1'000'000'000);
    if (ticks > 1 && sample.wall.count() > 0 && weight / ticks != 0) {
      const auto share = sample.wall / static_cast<std::int64_t>(ticks);
      write_sample(sample, sample.time - sample.wall + share, weight / ticks);
      weight -= weight / ticks;
    }
    if (weight != 0) write_sample(sample, sample.time, weight);
  }

  void write_sample(const profile::Sample& sample, std::chrono::nanoseconds time,
                    std::uint64_t weight) {
    const ThreadLine& thread = threads_[sample.thread];
    time = std::max(time, *thread.last_time);
    *thread.last_time = time;
    header_.clear();
    fmt::format_to(std::back_inserter(header_), "{}.{:09}:    {} swipr:\n",
                   time.count() / 1'000'000'000, time.count() % 1'000'000'000, weight);
    sink_.write(thread.start);
    sink_.write({header_.data(), header_.size()});
    write_frames(sample);
    sink_.write("\n");
  }

  void write_frames(const profile::Sample& sample) {
    if (options_.state_frames != StateFrames::kNo) {
      const std::string frame = state_frame(recording_, sample.state, sample.stack);
      if (!frame.empty()) sink_.write(pseudo_lines(frame));
    }
    const bool missing =
        sample.stack == profile::kNone || recording_.stacks[sample.stack].frames.empty();
    if (missing) {
      sink_.write(pseudo_lines(kNoStack));
      return;
    }
    if (const std::string& lines = stack_lines(sample.stack); !lines.empty()) {
      sink_.write(lines);
    } else {
      put_stack(sample.stack, sink_);
    }
  }

  // All lines of a stack; empty once the cache is full.
  const std::string& stack_lines(std::uint32_t stack) {
    std::string& lines = stack_lines_[stack];
    if (!lines.empty() || stack_bytes_ > kMaxStackBytes) return lines;
    StringSink text;
    put_stack(stack, text);
    lines = std::move(text.text);
    lines.shrink_to_fit();
    stack_bytes_ += lines.size();
    return lines;
  }

  template <typename Out>
  void put_stack(std::uint32_t index_of_stack, Out& out) {
    const profile::Stack& stack = recording_.stacks[index_of_stack];
    for (std::size_t index = 0; index < stack.frames.size(); ++index) {
      if (index == stack.omitted_at) out.write(pseudo_lines(kOmittedFrames));
      out.write(frame_lines(stack.frames[index]));
    }
    if (stack.omitted_at == stack.frames.size()) out.write(pseudo_lines(kOmittedFrames));
  }

  std::string pseudo_lines(std::string_view name) const {
    // stackcollapse-perf.pl --srcline reads the line after each frame as its source line.
    return fmt::format("\t    0 {} ([swipr])\n{}", name,
                       options_.source_lines ? "  [swipr]\n" : "");
  }

  // Lines of one frame, inlined functions first; cached.
  const std::string& frame_lines(std::uint32_t frame) {
    std::string& lines = frame_lines_[frame];
    if (!lines.empty()) return lines;
    const profile::Frame& entry = recording_.frames[frame];
    const std::string module = entry.module == profile::kNone
                                   ? std::string(kNoModule)
                                   : path_text(recording_.modules[entry.module].path);
    for (const profile::NamedFrame& named : names_.frames[frame]) {
      if (!profile::is_native(named)) {
        lines += runtime_line(named);
        if (options_.source_lines) lines += source_line(named, module);
        continue;
      }
      // "[libx.so+0x12a0]" needs no offset, and the address precedes it.
      const std::string offset =
          named.function.starts_with('[') ? "" : fmt::format("+0x{:x}", named.offset);
      lines +=
          fmt::format("\t    {:x} {}{}{} ({})\n", entry.pc.value, function_text(named.function),
                      named.inlined ? " [inlined]" : "", offset, module);
      if (options_.source_lines) lines += source_line(named, module);
    }
    return lines;
  }

  // The file stands where native frames have their module.
  static std::string runtime_line(const profile::NamedFrame& named) {
    const std::string_view name = named.system_name.empty() ? named.function : named.system_name;
    return fmt::format("\t    0 {} ({})\n", function_text(name), path_text(named.file));
  }

  static std::string source_line(const profile::NamedFrame& named, const std::string& module) {
    if (named.file.empty()) return fmt::format("  {}\n", module);
    return fmt::format("  {}:{}\n", path_text(named.file), named.line);
  }

  const profile::Recording& recording_;
  const profile::Names& names_;
  const Options& options_;
  Sink& sink_;
  std::unordered_map<Tid, std::chrono::nanoseconds,
                     decltype([](Tid tid) { return static_cast<std::size_t>(tid.value); })>
      last_times_;
  std::vector<ThreadLine> threads_;
  std::vector<std::string> frame_lines_;
  std::vector<std::string> stack_lines_;
  std::size_t stack_bytes_ = 0;  // of stack_lines_
  fmt::memory_buffer header_;
};
}  // namespace

host::Result<void> write_perf(const profile::Recording& recording, const profile::Names& names,
                              const Options& options, Sink& sink) {
  return PerfWriter(recording, names, options, sink).write();
}

}  // namespace swipr::exporters
