// In which system calls blocked threads wait, and for how long. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "cli/profile/recording.h"

namespace swipr::profile {

struct WaitTimes {
  std::uint32_t syscall = kNone;  // number; kNone: not known
  std::uint64_t samples = 0;
  std::uint32_t threads = 0;  // that waited in it
  std::chrono::nanoseconds blocked{0};
};

// Longest first, then by number.
std::vector<WaitTimes> wait_times(const Recording& recording);

}  // namespace swipr::profile
