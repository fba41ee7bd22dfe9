// The control thread's notion of time.
#pragma once

#include <chrono>

namespace swipr::agent {

// A moment on CLOCK_MONOTONIC.
using Moment = std::chrono::nanoseconds;
inline constexpr Moment kNever = Moment::max();

// Context: any thread, signal handlers included.
Moment monotonic_now() noexcept;

}  // namespace swipr::agent
