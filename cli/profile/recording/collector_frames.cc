#include "cli/profile/recording/collector_frames.h"

#include <algorithm>
#include <vector>

namespace swipr::profile {

namespace {

// A call is one of the collector's if it is found this many times as often below its frame as
// elsewhere, in at least this share of the samples with that frame, and not only a few times: rare
// calls of other threads are found nowhere else either.
constexpr std::uint64_t kMuchMore = 8;
constexpr std::uint64_t kShare = 32;
constexpr std::uint64_t kLeast = 8;

// Of Python. Ruby's handler knows which thread collects.
bool is_collector(const Recording& recording, std::uint32_t frame) {
  const std::uint32_t number = recording.frames[frame].function;
  if (number == kNone) return false;
  const Function& function = recording.functions[number];
  return function.is_collector && function.language == Language::kPython;
}

// The calls of native code that the innermost function of a runtime has made, and that have not
// returned: frames with return addresses. All, if there is no such function.
std::vector<std::uint32_t> innermost_calls(const Recording& recording, const Stack& stack) {
  std::vector<std::uint32_t> calls;
  for (const std::uint32_t frame : stack.frames) {
    const Frame& code = recording.frames[frame];
    if (is_runtime_frame(code.pc.value)) break;
    if (code.kind == PcKind::kReturnAddress) calls.push_back(frame);
  }
  return calls;
}

struct Counts {
  std::uint64_t collecting = 0;
  std::uint64_t other = 0;
};

class Collectors {
 public:
  explicit Collectors(Recording& recording) : recording_(recording) {
    for (const Stack& stack : recording.stacks) {
      const auto at = std::find_if(
          stack.frames.begin(), stack.frames.end(),
          [&recording](std::uint32_t frame) { return is_collector(recording, frame); });
      const bool has_any = at != stack.frames.end();
      places_.push_back(has_any ? static_cast<std::uint32_t>(at - stack.frames.begin()) : kNone);
      has_any_ |= has_any;
    }
  }

  void drop_doubtful() {
    if (!has_any_) return;
    count();
    for (std::uint32_t index = 0; index < places_.size(); ++index) {
      Stack& stack = recording_.stacks[index];
      if (places_[index] == kNone || is_certain(stack)) continue;
      stack.frames.erase(stack.frames.begin() + places_[index]);
      if (stack.omitted_at != kNone && stack.omitted_at > places_[index]) --stack.omitted_at;
    }
  }

 private:
  void count() {
    std::vector<std::uint64_t> ticks(recording_.stacks.size());
    for (const Sample& sample : recording_.samples) {
      if (sample.stack != kNone) ticks[sample.stack] += sample.ticks;
    }
    counts_.resize(recording_.frames.size());
    for (std::uint32_t index = 0; index < places_.size(); ++index) {
      const bool is_collecting = places_[index] != kNone;
      if (is_collecting) all_ += ticks[index];
      for (const std::uint32_t call : innermost_calls(recording_, recording_.stacks[index])) {
        (is_collecting ? counts_[call].collecting : counts_[call].other) += ticks[index];
      }
    }
  }

  bool is_certain(const Stack& stack) const {
    const std::vector<std::uint32_t> calls = innermost_calls(recording_, stack);
    return std::any_of(calls.begin(), calls.end(), [this](std::uint32_t call) {
      const Counts& counts = counts_[call];
      return counts.collecting >= kLeast && counts.collecting * kShare >= all_ &&
             counts.collecting > kMuchMore * counts.other;
    });
  }

  Recording& recording_;
  std::vector<std::uint32_t> places_;  // by stack: index of the collector's frame; kNone: none
  std::vector<Counts> counts_;         // by frame
  std::uint64_t all_ = 0;              // ticks of stacks with a collector's frame
  bool has_any_ = false;
};

}  // namespace

void drop_doubtful_collectors(Recording& recording) { Collectors(recording).drop_doubtful(); }

}  // namespace swipr::profile
