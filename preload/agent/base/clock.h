// The kernel's clocks and waits. No other file of the preload calls libc's time functions, because
// a preload that fakes clocks replaces them (scripts/check_preload).
// Context: any thread, signal handlers included, except find_vdso_clock.  Errno: kept.
#pragma once

#include <poll.h>
#include <time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace swipr::agent {

// Clocks are read by system calls until this has found the vDSO. Context: the thread that loads the
// library.
void find_vdso_clock() noexcept;

// nullopt: the clock does not exist, for example because its thread has ended.
std::optional<std::chrono::nanoseconds> read_clock(clockid_t clock) noexcept;

// In nanoseconds, as in records and pages; 0: the clock does not exist.
inline std::uint64_t clock_ns(clockid_t clock) noexcept {
  return static_cast<std::uint64_t>(
      read_clock(clock).value_or(std::chrono::nanoseconds{0}).count());
}

timespec to_timespec(std::chrono::nanoseconds time) noexcept;

// A signal ends it early.
void sleep_for(std::chrono::nanoseconds time) noexcept;

// ppoll(2) and pselect(2) without a signal mask. Return their result, or -errno. nullptr: no
// timeout.
long poll_descriptors(pollfd* polls, std::size_t count, const timespec* timeout) noexcept;
long select_descriptors(int end, void* readable, void* writable, const timespec* timeout) noexcept;

}  // namespace swipr::agent
