// The program's threads that wait inside swipr's own code. Where they stand is swipr's doing, so
// no recording shows it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/core/ids.h"

namespace swipr::agent::own_waiters {

// A thread beyond these is recorded as waiting in swipr's function.
inline constexpr std::size_t kMaxWaiters = 64;

// Context: the thread that waits, signal handlers included.
void enter(Tid thread) noexcept;
void leave(Tid thread) noexcept;

// Context: any thread.
bool contains(Tid thread) noexcept;

// In the child of a fork: nobody waits.
void clear() noexcept;

// The thread that waits for a recording of the process's start, 0: none. What it does until then is
// swipr's own time. Cleared by the thread itself, on its way back to the program.
inline std::atomic<std::int32_t> starting_tid{0};

}  // namespace swipr::agent::own_waiters
