// Blocked time by system call and kernel function. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/profile/recording/recording.h"

namespace swipr::profile {

struct WaitTimes {
  // Owned by the recording; empty: unknown.
  std::string_view syscall;
  std::string_view channel;  // kernel function
  std::uint64_t samples = 0;
  std::uint32_t threads = 0;  // number of threads that waited in it
  std::chrono::nanoseconds blocked{0};
};

// Longest first, then by name.  Lifetime: that of the recording.
std::vector<WaitTimes> wait_times(const Recording& recording);

}  // namespace swipr::profile
