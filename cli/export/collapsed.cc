#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cli/export/export.h"
#include "cli/export/text.h"
#include "cli/profile/aggregate.h"

namespace swipr::exporters {

namespace {
std::string frame_text(std::string_view name) {
  std::string text = clean_text(name);
  std::replace(text.begin(), text.end(), ';', ':');
  return text;
}

class CollapsedWriter {
 public:
  CollapsedWriter(const profile::Recording& recording, const profile::Names& names,
                  const Options& options)
      : recording_(recording), options_(options), stack_texts_(recording.stacks.size()) {
    for (const profile::FrameNames& frame : names.frames) {
      std::string& text = frame_texts_.emplace_back();
      for (auto named = frame.rbegin(); named != frame.rend(); ++named) {
        text += ';';
        text += frame_text(named->function);
      }
    }
  }

  host::Result<void> write(Sink& sink) {
    const bool by_state = options_.state_frames == StateFrames::kYes;
    const bool compares = options_.first_base_process != profile::kNone;
    struct Sums {
      std::uint64_t base = 0;
      std::uint64_t own = 0;
    };
    std::map<std::string, Sums> lines;
    for (const auto& merged :
         profile::aggregate(recording_, {.by_thread = true, .by_state = by_state})) {
      const std::uint64_t weight = merged.weights[profile::index_of(options_.weight_or_samples())];
      if (weight == 0) continue;
      std::string line = frame_text(thread_name(recording_.threads[merged.thread]));
      line += stack_text(merged.stack);
      const std::string state = state_frame(recording_, merged.state, merged.stack);
      if (!state.empty()) line += ";" + state;
      const bool is_base = options_.is_base(recording_.threads[merged.thread]);
      (is_base ? lines[line].base : lines[line].own) += weight;
    }
    for (const auto& [line, sums] : lines) {
      sink.write(compares ? fmt::format("{} {} {}\n", line, sums.base, sums.own)
                          : fmt::format("{} {}\n", line, sums.own));
    }
    return sink.flush();
  }

 private:
  const std::string& stack_text(std::uint32_t stack) {
    static const std::string kMissing = fmt::format(";{}", kNoStack);
    if (stack == profile::kNone || recording_.stacks[stack].frames.empty()) return kMissing;
    std::string& text = stack_texts_[stack];
    if (!text.empty()) return text;
    const profile::Stack& entry = recording_.stacks[stack];
    const std::string omitted = fmt::format(";{}", kOmittedFrames);
    if (entry.omitted_at == entry.frames.size()) text += omitted;
    for (std::size_t index = entry.frames.size(); index-- > 0;) {
      text += frame_texts_[entry.frames[index]];
      if (index == entry.omitted_at) text += omitted;
    }
    return text;
  }

  const profile::Recording& recording_;
  const Options& options_;
  std::vector<std::string> frame_texts_;  // ";outer;inlined into it"
  std::vector<std::string> stack_texts_;  // rendered when first asked for
};
}  // namespace

host::Result<void> write_collapsed(const profile::Recording& recording, const profile::Names& names,
                                   const Options& options, Sink& sink) {
  return CollapsedWriter(recording, names, options).write(sink);
}

}  // namespace swipr::exporters
