// A part of a long recording as a recording of its own. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/profile/recording/recording.h"

namespace swipr::fleet {

// When a slice began, and how long it is.
struct Span {
  std::chrono::nanoseconds realtime{0};   // since the epoch
  std::chrono::nanoseconds monotonic{0};  // the same moment
  std::chrono::nanoseconds duration{0};
};

struct Slice {
  profile::Recording recording;
  // Shape: parallel to those of `recording`: indexes in the recording that it is part of.
  std::vector<std::uint32_t> processes;
  std::vector<std::uint32_t> frames;
};

// `samples` refer to `whole`, in any order. The slice contains what they use and nothing else, so
// that names of what ran long ago are not looked up again. All processes have the times of `span`.
Slice cut_slice(const profile::Recording& whole, std::span<const profile::Sample> samples,
                const Span& span);

}  // namespace swipr::fleet
