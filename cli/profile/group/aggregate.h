// Sums a recording's samples per distinct (thread, stack, state, labels). Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/profile/group/sample_kinds.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

inline constexpr std::size_t kWeightCount = 5;
using Weights = std::array<std::uint64_t, kWeightCount>;  // indexed by Weight

constexpr std::size_t index_of(Weight weight) { return static_cast<std::size_t>(weight); }

// Keys that are left out are merged; they are kNone or kUnknown in the result.
using AggregateOptions = KindOptions;

struct MergedStack {
  std::uint32_t thread = kNone;
  std::uint32_t stack = kNone;  // kNone: samples without a stack
  State state = State::kUnknown;
  std::uint32_t labels = kNone;
  Weights weights{};
};

// Grouped by stack in the order of the recording, samples without a stack last; within a stack
// in order of first appearance.
std::vector<MergedStack> aggregate(const Recording& recording, AggregateOptions options = {});

// Merges entries whose stacks differ in what the thread waits for only. The order stays.
void merge_equal_frames(const Recording& recording, std::vector<MergedStack>& merged);

}  // namespace swipr::profile
