// How often processes are recorded, so that all recordings of a host stay below a limit. Pure.
#pragma once

#include <chrono>
#include <span>
#include <vector>

namespace swipr::fleet {

struct RecordingCost {
  std::chrono::nanoseconds used{0};  // CPU time of swipr's thread in the process, in a slice
  unsigned halvings = 0;             // of the rate, in that slice
};

inline constexpr unsigned kMostHalvings = 4;  // of 11 ticks per second: one in 1.5 s

// The halvings of each from now on. If all together used more than `allowed`, the rates of those
// that cost most are halved; if less than half of it, the cheapest of the slowed are doubled.
std::vector<unsigned> limit_overhead(std::span<const RecordingCost> costs,
                                     std::chrono::nanoseconds allowed);

}  // namespace swipr::fleet
