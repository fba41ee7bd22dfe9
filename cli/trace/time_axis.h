// Rows of a histogram: steps of a logarithmic axis with round numbers. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "cli/trace/durations.h"

namespace swipr::tracing {

struct TimeAxis {
  // Where rows begin, in order. The first row also has what is shorter, the last what is longer.
  std::vector<std::chrono::nanoseconds> begins;
  bool is_coarse = false;  // one row for each decade
};

// Covers all but the fastest and the slowest thousandth of each function's calls, as finely as
// `max_rows` rows allow: an outlier must not squeeze everything else into one row. Empty: no calls.
TimeAxis make_time_axis(std::span<const Durations* const> functions, std::size_t max_rows);

// Share of the calls in each row. A bucket that two rows share is divided.
std::vector<double> shares_of(const Durations& durations, const TimeAxis& axis);

}  // namespace swipr::tracing
