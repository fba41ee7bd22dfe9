// Sums of times per label of threads. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/profile/recording/recording.h"

namespace swipr::profile {

struct LabelTimes {
  std::string key;
  std::string value;  // empty: samples without a label of this key
  std::uint64_t samples = 0;
  std::chrono::nanoseconds cpu{0};
  std::chrono::nanoseconds runqueue{0};
  std::chrono::nanoseconds blocked{0};
};

// The entries of each key add up to the whole recording. Sorted by key, then CPU time, then blocked
// time, then value. Empty: no thread had a label.
std::vector<LabelTimes> label_times(const Recording& recording);

}  // namespace swipr::profile
