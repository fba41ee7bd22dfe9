#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/export/formats/export.h"
#include "cli/export/text/text.h"
#include "cli/profile/group/aggregate.h"

namespace swipr::exporters {

namespace {
std::string frame_text(std::string_view name) {
  std::string text = clean_text(name);
  std::replace(text.begin(), text.end(), ';', ':');
  return text;
}

// The suffixes that readers of gProfiler's stacks know.
std::string_view suffix_of(const profile::NamedFrame& frame) {
  switch (frame.language) {
    case Language::kPython:
      return "_[p]";
    case Language::kJava:
      if (frame.execution == Execution::kInterpreted) return "_[0]";
      return frame.execution == Execution::kInlined ? "_[i]" : "_[j]";
    case Language::kJavaScript:
      return "_[js]";
    case Language::kRuby:
      return "_[rb]";
    case Language::kPhp:
      return "_[php]";
    case Language::kNative:
    case Language::kDotNet:
    case Language::kErlang:
      break;
  }
  return "";
}
constexpr std::string_view kNativeBesidePython = "_[pn]";

// Distinct texts by number, and their order.
class Texts {
 public:
  std::uint32_t find(std::string text) {
    const auto next = static_cast<std::uint32_t>(texts_.size());
    const auto [place, is_new] = numbers_.try_emplace(std::move(text), next);
    if (is_new) texts_.push_back(place->first);
    return place->second;
  }
  std::string_view text(std::uint32_t number) const { return texts_[number]; }

  // Rank of each text in sorted order, by number.
  std::vector<std::uint32_t> places() const {
    std::vector<std::uint32_t> order(texts_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [this](std::uint32_t a, std::uint32_t b) { return texts_[a] < texts_[b]; });
    std::vector<std::uint32_t> places(order.size());
    for (std::uint32_t place = 0; place < order.size(); ++place) places[order[place]] = place;
    return places;
  }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::string_view> texts_;
};

class CollapsedWriter {
 public:
  CollapsedWriter(const profile::Recording& recording, const profile::Names& names,
                  const Options& options)
      : recording_(recording),
        options_(options),
        rests_of_stacks_(recording.stacks.size(), profile::kNone) {
    for (const profile::FrameNames& frame : names.frames) {
      texts_of_frames_.push_back(text_of(frame, ""));
      if (!options.frame_kinds) continue;
      texts_beside_python_.push_back(text_of(frame, kNativeBesidePython));
      is_python_.push_back(frame.front().language == Language::kPython);
    }
  }

  host::Result<void> write(Sink& sink) {
    const std::vector<Line> lines = collect();
    for (std::size_t index = 0; index < lines.size();) {
      Line sum = lines[index];
      for (++index; index < lines.size() && lines[index].place == sum.place; ++index) {
        sum.base += lines[index].base;
        sum.own += lines[index].own;
      }
      put(sum, sink);
    }
    return sink.flush();
  }

 private:
  // A line as two numbers, because there may be as many lines as threads times stacks.
  struct Line {
    std::uint64_t place = 0;  // sort key: rank of the thread, then of the rest
    std::uint32_t thread = 0;
    std::uint32_t rest = 0;
    std::uint64_t base = 0;
    std::uint64_t own = 0;
  };

  // In sorted order. Names contain no semicolon, so the name of the thread decides before the rest.
  std::vector<Line> collect() {
    const bool by_state = options_.state_frames == StateFrames::kYes;
    std::vector<Line> lines;
    for (const auto& merged :
         profile::aggregate(recording_, {.by_thread = true, .by_state = by_state})) {
      const std::uint64_t weight = merged.weights[profile::index_of(options_.weight_or_samples())];
      if (weight == 0) continue;
      const profile::Thread& thread = recording_.threads[merged.thread];
      Line& line = lines.emplace_back();
      line.thread = threads_.find(frame_text(thread_name(thread)) + ';');
      line.rest = rest_of(merged);
      (options_.is_base(thread) ? line.base : line.own) = weight;
    }
    const std::vector<std::uint32_t> thread_places = threads_.places();
    const std::vector<std::uint32_t> rest_places = rests_.places();
    for (Line& line : lines) {
      line.place = (std::uint64_t{thread_places[line.thread]} << 32) | rest_places[line.rest];
    }
    std::sort(lines.begin(), lines.end(),
              [](const Line& a, const Line& b) { return a.place < b.place; });
    return lines;
  }

  void put(const Line& line, Sink& sink) const {
    sink.write(threads_.text(line.thread));
    sink.write(rests_.text(line.rest));
    const bool compares = options_.first_base_process != profile::kNone;
    sink.write(compares ? fmt::format(" {} {}\n", line.base, line.own)
                        : fmt::format(" {}\n", line.own));
  }

  std::uint32_t rest_of(const profile::MergedStack& merged) {
    const std::string state = state_frame(recording_, merged.state, merged.stack);
    if (!state.empty()) {
      return rests_.find(fmt::format("{};{}", stack_text(merged.stack), frame_text(state)));
    }
    if (merged.stack == profile::kNone) return rests_.find(stack_text(merged.stack));
    std::uint32_t& rest = rests_of_stacks_[merged.stack];
    if (rest == profile::kNone) rest = rests_.find(stack_text(merged.stack));
    return rest;
  }

  // ";outer;inlined into it"
  std::string text_of(const profile::FrameNames& frame, std::string_view native_suffix) const {
    std::string text;
    for (auto named = frame.rbegin(); named != frame.rend(); ++named) {
      text.append(1, ';').append(frame_text(named->function));
      if (options_.frame_kinds) text += is_native(*named) ? native_suffix : suffix_of(*named);
    }
    return text;
  }

  // "outer;…;inner"
  std::string stack_text(std::uint32_t stack) const {
    if (stack == profile::kNone || recording_.stacks[stack].frames.empty()) {
      return std::string(kNoStack);
    }
    const profile::Stack& entry = recording_.stacks[stack];
    std::string text;
    const auto add_gap = [&text] { text.append(1, ';').append(kOmittedFrames); };
    const bool has_python = options_.frame_kinds &&
                            std::any_of(entry.frames.begin(), entry.frames.end(),
                                        [this](std::uint32_t frame) { return is_python_[frame]; });
    const std::vector<std::string>& texts = has_python ? texts_beside_python_ : texts_of_frames_;
    if (entry.omitted_at == entry.frames.size()) add_gap();
    for (std::size_t index = entry.frames.size(); index-- > 0;) {
      text += texts[entry.frames[index]];
      if (index == entry.omitted_at) add_gap();
    }
    return text.substr(1);
  }

  const profile::Recording& recording_;
  const Options& options_;
  std::vector<std::string> texts_of_frames_;
  std::vector<std::string> texts_beside_python_;  // only with frame_kinds
  std::vector<bool> is_python_;                   // by frame; only with frame_kinds
  Texts threads_;                                 // "thread name;"
  Texts rests_;                                   // the rest of the line
  std::vector<std::uint32_t> rests_of_stacks_;    // without a state; kNone: not yet computed
};
}  // namespace

host::Result<void> write_collapsed(const profile::Recording& recording, const profile::Names& names,
                                   const Options& options, Sink& sink) {
  return CollapsedWriter(recording, names, options).write(sink);
}

}  // namespace swipr::exporters
