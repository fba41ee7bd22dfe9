// In which system calls, and where in the kernel, blocked threads wait, and for how long. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/profile/recording.h"

namespace swipr::profile {

struct WaitTimes {
  std::uint32_t syscall = kNone;  // number; kNone: not known
  std::string_view channel;       // kernel function, in the recording; empty: not known
  std::uint64_t samples = 0;
  std::uint32_t threads = 0;  // that waited in it
  std::chrono::nanoseconds blocked{0};
};

// Longest first, then by number and name.  Lifetime: the recording's.
std::vector<WaitTimes> wait_times(const Recording& recording);

}  // namespace swipr::profile
