// The CPU time that a stack stands for, of a thread that runs in bursts.
#pragma once

#include <algorithm>
#include <cstdint>

namespace swipr::agent {

// Ticks find a burst once per interval of its CPU time, at any phase with the same probability, so
// the weight must not depend on the phase, hence not on the CPU time since the previous stack. It
// is half an interval, and a quarter of what the previous stack left. In the steady state two
// intervals are left, and the weight is one interval. `left_ns`: CPU time that no stack stood for
// when the previous one was taken; `used_ns`: now.
constexpr std::int64_t burst_weight_ns(std::int64_t interval_ns, std::int64_t left_ns,
                                       std::int64_t used_ns) noexcept {
  return std::min(interval_ns / 2 + left_ns / 4, used_ns);
}

}  // namespace swipr::agent
