// Samples by the duration of the traced call that they are in. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

// The shortest duration that is longer than `units` of kQuantileUnits (common/core/quantile_text.h)
// of all calls of these functions. None: there are too few calls.
std::optional<std::chrono::nanoseconds> quantile_of_calls(const Recording& recording,
                                                          std::span<const std::uint32_t> functions,
                                                          std::uint64_t units);

// kUnfinished: its call had not ended when it was met last, and was not slow until then.
enum class CallPart : std::uint8_t { kOutside, kNormal, kSlow, kUnfinished };

class CallSplit {
 public:
  // `functions`: in Recording::traced; calls of each of them count. Slow are calls that took longer
  // than the threshold. Lifetime: `recording` outlives it, and keeps its calls.
  CallSplit(const Recording& recording, std::vector<std::uint32_t> functions,
            std::chrono::nanoseconds threshold);

  CallPart part_of(const Sample& sample) const;
  std::chrono::nanoseconds threshold() const { return threshold_; }
  std::span<const std::uint32_t> functions() const { return functions_; }

 private:
  CallPart part_of(std::uint32_t call) const;

  const Recording& recording_;
  std::vector<std::uint32_t> functions_;
  std::chrono::nanoseconds threshold_;
  std::vector<bool> is_wanted_;                   // by function
  std::vector<std::chrono::nanoseconds> met_at_;  // by call: its last sample
};

// Removes the samples of all other parts.
void keep_part(Recording& recording, const CallSplit& split, CallPart part);

// What slow calls do that others do not: wall time per call.
struct SplitSide {
  std::uint64_t calls = 0;          // all that ended, by their durations
  std::uint64_t sampled_calls = 0;  // met by samples
  std::uint64_t samples = 0;
  std::uint64_t weight = 0;  // of the samples
};
struct SplitFunction {
  std::string function;
  std::uint64_t slow = 0;    // weight in it and in what it calls, in slow calls
  std::uint64_t normal = 0;  // … in the others
};
struct SplitComparison {
  SplitSide slow, normal, unfinished;
  std::vector<SplitFunction> functions;  // largest difference of weight per call first
};
SplitComparison compare_parts(const Recording& recording, const Names& names,
                              const CallSplit& split, Weight weight);

// Weight per call; 0 without calls.
double per_call(std::uint64_t weight, const SplitSide& side);

// Gives samples of different calls different stacks, which are equal otherwise. Returns the
// innermost call of each stack; kNone: none.
std::vector<std::uint32_t> separate_calls(Recording& recording);

}  // namespace swipr::profile
