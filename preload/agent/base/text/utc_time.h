// Calendar time without libc's time zone, whose lock the program may hold.
// Context: any thread, signal handlers included.  Allocates: never.
#pragma once

#include <cstdint>

namespace swipr::agent {

struct UtcTime {
  std::uint64_t year = 0;
  std::uint64_t month = 0;  // 1 to 12
  std::uint64_t day = 0;    // 1 to 31
  std::uint64_t hour = 0;
  std::uint64_t minute = 0;
  std::uint64_t second = 0;
  friend bool operator==(const UtcTime&, const UtcTime&) = default;
};

// Converts seconds since 1970 (CLOCK_REALTIME).
UtcTime utc_time(std::uint64_t seconds) noexcept;

}  // namespace swipr::agent
