// The siginfo values that distinguish swipr's signals from all others.
#pragma once

#include <signal.h>

#include <cstdint>

#include "preload/handler/signals/timed_threads.h"
#include "preload/trace/gate/gate.h"

namespace swipr::handler {

// SI_QUEUE is -1 and glibc's own codes end at -60; this value differs from all of them.
inline constexpr int kOwnSignalCode = -0x5357;

inline std::uint64_t value_of(const siginfo_t& info) noexcept {
  return reinterpret_cast<std::uint64_t>(info.si_value.sival_ptr);
}
inline bool is_of_own_timer(const siginfo_t& info) noexcept {
  return info.si_code == SI_TIMER && is_timer_value(value_of(info));
}
inline bool is_own_signal(const siginfo_t& info) noexcept {
  return info.si_code == kOwnSignalCode || info.si_code == trace::kGateSignalCode ||
         is_of_own_timer(info);
}

}  // namespace swipr::handler
