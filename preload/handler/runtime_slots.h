// Frames of language runtimes for the stacks in slots: what the control thread tells handlers about
// the runtimes of the process, and the tokens that handlers leave. Memory exists only in processes
// that have such a runtime.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/core/runtime_frame.h"
#include "common/core/signal_safe.h"
#include "preload/handler/signals/timed_threads.h"
#include "preload/handler/slots.h"
#include "preload/runtimes/java/java_layout.h"
#include "preload/runtimes/lua/lua_frames.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/perl/perl_layout.h"
#include "preload/runtimes/php/php_layout.h"
#include "preload/runtimes/python/python_frames.h"
#include "preload/runtimes/r/r_layout.h"
#include "preload/runtimes/ruby/ruby_layout.h"
#include "preload/runtimes/token.h"
#include "preload/runtimes/v8/v8_layout.h"
#include "preload/unwind/walk/page_probe_reader.h"

namespace swipr::handler {

// Immutable once published. Retired ones are freed under the same condition as code maps.
struct RuntimeSnapshot {
  Language language = Language::kNative;  // its member is set
  runtimes::PythonRuntime python{};
  runtimes::JavaRuntime java{};
  runtimes::V8Runtime v8{};
  runtimes::RubyRuntime ruby{};
  runtimes::PhpRuntime php{};
  runtimes::PerlRuntime perl{};
  runtimes::RRuntime r{};
  runtimes::LuaRuntime lua{};
  std::uint32_t tid_in_pthread = 0;  // ThreadIdentity
  std::uint64_t pthread_offset = 0;  // from the thread pointer

  // Walks go through its machine code, and store the tokens.
  bool has_native_code() const noexcept { return language == Language::kJava || lua.is_jit; }
};

struct RuntimeSlot {
  // Before: the thread's states as the control thread knows them. Afterwards: those of them that
  // still are the thread's. Handlers do not search: other threads free their states at any time.
  runtimes::PythonThreadStates states;
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
  runtimes::LuaProtection lua_protection{0};  // what the walks of all threads have found
};
extern RuntimeShared runtime_shared;

// The handler's side, while it pins the code map.
struct RuntimeOfSlot {
  const RuntimeSnapshot* snapshot = nullptr;  // nullptr: there is no runtime
  RuntimeSlot* slot = nullptr;                // with a snapshot: where its tokens are stored
};
// Clears the tokens of an earlier answer.
SWIPR_SIGNAL_SAFE RuntimeOfSlot begin_runtime(const Slot& slot) noexcept;
// Walks the calling thread's stack from the slot's registers. Frames of Java and LuaJIT are part of
// the stack: their tokens are stored here.
SWIPR_SIGNAL_SAFE unwind::WalkEnd walk_stack(Slot& slot, const unwind::CodeMap& map,
                                             unwind::PageProbeReader& memory,
                                             const RuntimeOfSlot& runtime) noexcept;
// Of the calling thread: reads the frames of runtimes that keep a chain of their own, or those of
// JavaScript among the frames of the walk.
SWIPR_SIGNAL_SAFE void take_tokens(const Slot& slot, const RuntimeOfSlot& runtime) noexcept;

// The agent's side. nullptr: there is no runtime.
RuntimeSlot* runtime_slot_of(const Slot& slot) noexcept;
inline void set_timed_state(std::uint32_t place, std::uint64_t state) noexcept {
  runtime_shared.timed_states[place % kTimedThreadCount].store(state, std::memory_order_relaxed);
}

}  // namespace swipr::handler
