// CPU time of single threads, exact at the time of the call, also for a running thread.
// Context: control thread.
#pragma once

#include <chrono>
#include <optional>

#include "common/core/ids.h"

namespace swipr::agent {

// nullopt: no such thread.  Source: kernel, include/linux/posix-timers.h: a clock id is ~tid << 3 |
// 4 (per thread) | 2 (scheduler time).
std::optional<std::chrono::nanoseconds> read_thread_clock(Tid tid) noexcept;
std::chrono::nanoseconds read_own_clock() noexcept;
std::chrono::nanoseconds read_process_clock() noexcept;

}  // namespace swipr::agent
