// Durations of calls that took so many nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "cli/trace/durations.h"

namespace swipr::tracing {

inline Durations calls_of(const std::vector<std::uint64_t>& values) {
  Durations durations;
  for (const std::uint64_t value : values) {
    durations.add_bucket(bucket_of(value), 1);
    const std::chrono::nanoseconds time(
        std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
    durations.add_totals({time, time, 0, 0});
  }
  return durations;
}

}  // namespace swipr::tracing
