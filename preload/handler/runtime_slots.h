// Frames of language runtimes for the stacks in slots: what the control thread tells handlers about
// the runtimes of the process, and the tokens that handlers leave. Memory exists only in processes
// that have such a runtime.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/handler/signals/timed_threads.h"
#include "preload/handler/slots.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/python/python_frames.h"
#include "preload/runtimes/token.h"

namespace swipr::handler {

// Immutable once published. Retired ones are freed under the same condition as code maps.
struct RuntimeSnapshot {
  runtimes::PythonRuntime python;
  std::uint32_t tid_in_pthread = 0;  // ThreadIdentity
};

struct RuntimeSlot {
  // Before: the thread's states as the control thread knows them. Afterwards: those of them that
  // still are the thread's. Handlers do not search: other threads free their states at any time.
  runtimes::PythonThreadStates states;
  runtimes::PythonWalkEnd end;
  runtimes::PageCache pages;
  runtimes::TokenBuffer tokens;
};
inline constexpr std::size_t kRuntimeSlotsBytes =
    (kSlotCount + kOpenSlotCount) * sizeof(RuntimeSlot);

struct RuntimeShared {
  std::atomic<const RuntimeSnapshot*> snapshot{nullptr};  // nullptr: no runtime
  // kSlotCount + kOpenSlotCount, in the order of stack_copies; never unmapped once set, and set
  // before the first snapshot.
  std::atomic<RuntimeSlot*> slots{nullptr};
  // For signals of CPU timers, by the thread's place modulo the count: one of its states; 0: none
  // is known.
  std::atomic<std::uint64_t> timed_states[kTimedThreadCount] = {};
};
extern RuntimeShared runtime_shared;

// The handler's side, while it pins the code map: reads the frames of the calling thread.
SWIPR_SIGNAL_SAFE void take_tokens(const Slot& slot) noexcept;

// The agent's side. nullptr: there is no runtime.
RuntimeSlot* runtime_slot_of(const Slot& slot) noexcept;
inline void set_timed_state(std::uint32_t place, std::uint64_t state) noexcept {
  runtime_shared.timed_states[place % kTimedThreadCount].store(state, std::memory_order_relaxed);
}

}  // namespace swipr::handler
