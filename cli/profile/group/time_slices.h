// Samples as rows with weights and times in units of slices. Consecutive equal samples are
// merged, so that the rows are few enough for an HTML page. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/profile/group/aggregate.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

struct SlicedRow {
  std::uint32_t thread = 0;
  std::uint32_t stack = kNone;
  State state = State::kUnknown;
  std::uint32_t mark = kNone;
  std::uint32_t first_slice = 0;
  std::uint32_t last_slice = 0;  // inclusive: a row may span many
  // From the start of the first slice to that of the first sample. Rows that span several slices
  // are one sample, so its place in them is known from this and its wall time.
  std::chrono::nanoseconds offset{0};
  std::chrono::nanoseconds credited{0};  // see Sample
  Weights weights{};
};

struct SlicedSamples {
  std::chrono::nanoseconds begin{0};  // CLOCK_MONOTONIC of the recorded machine
  std::chrono::nanoseconds duration{0};
  std::uint32_t slice_count = 1;
  std::vector<SlicedRow> rows;  // per thread in order of time
};

// Slices are lengthened until there are at most `max_rows` rows or one slice. `marks`: empty, or a
// number by sample, kNone for those without one; samples with different marks are not equal.
SlicedSamples slice_samples(const Recording& recording, std::uint32_t max_slices,
                            std::size_t max_rows, std::span<const std::uint32_t> marks = {});

struct Extent {
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
};
// Time from the start of the first sample to the last one; 0 without samples.
Extent extent_of(const Recording& recording);

}  // namespace swipr::profile
