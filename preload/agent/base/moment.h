// Type of a time on the control thread's clock.
#pragma once

#include <chrono>

namespace swipr::agent {

// A time of CLOCK_MONOTONIC.
using Moment = std::chrono::nanoseconds;
inline constexpr Moment kNever = Moment::max();

// Context: any thread, signal handlers included.
Moment monotonic_now() noexcept;

}  // namespace swipr::agent
