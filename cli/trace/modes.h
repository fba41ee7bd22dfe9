// The ways that a function's calls take: peaks of the density of their durations, on a logarithmic
// axis. Pure.
#pragma once

#include <chrono>
#include <vector>

#include "cli/trace/durations.h"

namespace swipr::tracing {

struct Mode {
  std::chrono::nanoseconds peak{0};
  double share = 0;  // of the calls, up to the valleys beside it
};

// Fastest first; empty: no calls. A peak counts if the valley beside it is 20 % lower, more than
// chance makes it, and if it has 1 % of the calls. Bandwidth of the kernel: 0.9 · min(σ, IQR
// / 1.34) · n^(−1/5), at least two buckets.
std::vector<Mode> find_modes(const Durations& durations);

}  // namespace swipr::tracing
