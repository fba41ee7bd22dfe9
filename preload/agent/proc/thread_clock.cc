#include "preload/agent/proc/thread_clock.h"

#include <time.h>

namespace swipr::agent {

namespace {
std::chrono::nanoseconds to_nanoseconds(const timespec& time) noexcept {
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}
std::chrono::nanoseconds read_clock(clockid_t clock) noexcept {
  timespec time{};
  ::clock_gettime(clock, &time);
  return to_nanoseconds(time);
}
}  // namespace

std::optional<std::chrono::nanoseconds> read_thread_clock(Tid tid) noexcept {
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(tid.value)) << 3 | 6u);
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return std::nullopt;
  return to_nanoseconds(time);
}

std::chrono::nanoseconds read_own_clock() noexcept { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
std::chrono::nanoseconds read_process_clock() noexcept {
  return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace swipr::agent
