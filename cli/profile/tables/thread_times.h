// Sums of times per thread. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "cli/profile/recording/recording.h"

namespace swipr::profile {

struct ThreadTimes {
  std::uint32_t thread = 0;
  std::uint64_t samples = 0;
  std::chrono::nanoseconds cpu{0};
  std::chrono::nanoseconds runqueue{0};
  std::chrono::nanoseconds blocked{0};
};

// One entry per thread of the recording, sorted by CPU time, then run-queue time, then index.
std::vector<ThreadTimes> thread_times(const Recording& recording);

// False if no tick has sampled a thread. Samples with 0 ticks contain times only.
bool has_samples(const Recording& recording);

}  // namespace swipr::profile
