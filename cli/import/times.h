// Times of untrusted files, bounded so that sums of a few of them fit 64 bits.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace swipr::importers {

// 36 years: longer than any recording.
inline constexpr std::uint64_t kMaxTimeNs = std::uint64_t{1} << 60;

inline std::uint64_t bounded(std::uint64_t time_ns) { return std::min(time_ns, kMaxTimeNs); }

inline std::chrono::nanoseconds duration_of(std::uint64_t time_ns) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(bounded(time_ns)));
}

}  // namespace swipr::importers
