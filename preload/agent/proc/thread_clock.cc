#include "preload/agent/proc/thread_clock.h"

#include "preload/agent/base/clock.h"

namespace swipr::agent {

std::optional<std::chrono::nanoseconds> read_thread_clock(Tid tid) noexcept {
  return read_clock(static_cast<clockid_t>((~static_cast<unsigned>(tid.value)) << 3 | 6u));
}

std::chrono::nanoseconds read_own_clock() noexcept {
  return read_clock(CLOCK_THREAD_CPUTIME_ID).value_or(std::chrono::nanoseconds{0});
}

std::chrono::nanoseconds read_process_clock() noexcept {
  return read_clock(CLOCK_PROCESS_CPUTIME_ID).value_or(std::chrono::nanoseconds{0});
}

}  // namespace swipr::agent
