// Forks and changes of code exclude each other, and what both kinds of gates need.
// Context: control thread. Imports nothing, as gate.h says.
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstdint>

#include "preload/machine/raw_syscall.h"

namespace swipr::trace {

// To remove a jump, which is tried again later.
inline constexpr std::uint64_t kForksNs = 100'000'000;

inline long address_of(const void* memory) noexcept { return reinterpret_cast<long>(memory); }

[[gnu::noinline]] inline std::uint64_t now_ns() noexcept {
  timespec time;
  machine::raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, address_of(&time));
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

[[gnu::noinline]] inline void sleep_ns(std::uint64_t ns) noexcept {
  const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(ns)};
  machine::raw_syscall(SYS_nanosleep, address_of(&time));
}

// All CPUs that execute this program fetch its code anew.
// Source: membarrier(2); Intel SDM volume 3, 9.1.3 (cross-modifying code); Arm ARM, B2.2.5.
inline void synchronise() noexcept {
  machine::raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0);
}

// False: forks follow each other without end.
bool wait_for_forks(std::uint64_t deadline) noexcept;
void let_fork() noexcept;

}  // namespace swipr::trace
