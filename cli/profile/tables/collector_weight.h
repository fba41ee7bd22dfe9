// How much of a recording language runtimes spent on collecting garbage. Pure.
#pragma once

#include <cstdint>

#include "cli/profile/recording/recording.h"

namespace swipr::profile {

// The weight of all samples in whose stack a runtime collects garbage.
std::uint64_t collector_weight(const Recording& recording, Weight weight);

}  // namespace swipr::profile
