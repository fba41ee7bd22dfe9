// A recording's samples as rows that know when they were, to within a slice of its time, and what
// they weigh. Neighbouring equal samples are one row: few enough for a page in a browser. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/profile/aggregate.h"
#include "cli/profile/recording.h"

namespace swipr::profile {

struct SlicedRow {
  std::uint32_t thread = 0;
  std::uint32_t stack = kNone;
  State state = State::kUnknown;
  std::uint32_t first_slice = 0;
  std::uint32_t last_slice = 0;  // inclusive: a row may span many
  Weights weights{};
};

struct SlicedSamples {
  std::chrono::nanoseconds begin{0};  // CLOCK_MONOTONIC of the recorded machine
  std::chrono::nanoseconds duration{0};
  std::uint32_t slice_count = 1;
  std::vector<SlicedRow> rows;  // per thread in order of time
};

// The slices are made longer until there are at most `max_rows` rows, or one slice.
SlicedSamples slice_samples(const Recording& recording, std::uint32_t max_slices,
                            std::size_t max_rows);

struct Extent {
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
};
// From the beginning of what the first sample stands for to the last one; 0 without samples.
Extent extent_of(const Recording& recording);

}  // namespace swipr::profile
