// The program's threads that wait in swipr's own code. Recordings do not show these waits, because
// swipr causes them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/core/ids.h"

namespace swipr::agent::own_waiters {

// Further threads are recorded as waiting in swipr's function.
inline constexpr std::size_t kMaxWaiters = 64;

// Context: the thread that waits, signal handlers included.
void enter(Tid thread) noexcept;
void leave(Tid thread) noexcept;

// Context: any thread.
bool contains(Tid thread) noexcept;

// In the child of a fork: no thread waits.
void clear() noexcept;

// The thread that waits for a recording at the start of the process; 0: none. Its time until then
// is swipr's own. Cleared by the thread itself when it returns to the program.
inline std::atomic<std::int32_t> starting_tid{0};

}  // namespace swipr::agent::own_waiters
