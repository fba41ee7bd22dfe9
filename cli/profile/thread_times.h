// Where each thread's time went. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "cli/profile/recording.h"

namespace swipr::profile {

struct ThreadTimes {
  std::uint32_t thread = 0;
  std::uint64_t samples = 0;
  std::chrono::nanoseconds cpu{0};
  std::chrono::nanoseconds runqueue{0};
  std::chrono::nanoseconds blocked{0};
};

// One for each thread of the recording; most CPU time first, then longest run-queue wait, then
// index.
std::vector<ThreadTimes> thread_times(const Recording& recording);

// False: no tick met a thread. Samples that stand for no tick hold times only.
bool has_samples(const Recording& recording);

}  // namespace swipr::profile
