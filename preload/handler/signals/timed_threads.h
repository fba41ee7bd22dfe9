// Threads that have a CPU timer (agent/cpu_timers.h), by tid, so that a thread that is about to
// block the sampling signal can stop its timer: a later signal would stay pending in the thread and
// be visible to it.
#pragma once

#include <cstdint>

#include "common/core/signal_safe.h"

namespace swipr::handler {

inline constexpr std::uint32_t kTimedThreadCount = 4096;

// --- the agent's side. Between entering and arming the timer nobody else may change the thread's
// mask (asking.h).
// False: another thread has the place.
bool enter_timed_thread(std::int32_t tid, std::int32_t timer) noexcept;
void leave_timed_thread(std::int32_t tid) noexcept;
// The thread has stopped its timer.
bool has_stopped_timer(std::int32_t tid) noexcept;
void forget_timed_threads() noexcept;

// --- the thread's side.
SWIPR_SIGNAL_SAFE void stop_own_timer() noexcept;

// The value in a timer's signal: the thread that it belongs to. Its upper bits distinguish it from
// the values of the program's own timers: no address and no int has them.
constexpr std::uint64_t pack_timer_value(std::uint32_t place, std::uint16_t generation) noexcept {
  return std::uint64_t{0x5357} << 48 | std::uint64_t{generation} << 32 | place;
}
constexpr bool is_timer_value(std::uint64_t value) noexcept { return value >> 48 == 0x5357; }
constexpr std::uint32_t place_of_timer(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(value);
}
constexpr std::uint16_t generation_of_timer(std::uint64_t value) noexcept {
  return static_cast<std::uint16_t>(value >> 32);
}

}  // namespace swipr::handler
