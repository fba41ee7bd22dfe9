// Calls that took longer than their function's threshold, from the hooks to the control thread.
//
// The stack is copied, not walked: a walk needs vector registers, tables that may not be there, and
// code that the program may be executing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/trace/calls/calls.h"
#include "preload/trace/calls/kept_state.h"

namespace swipr::trace {

inline constexpr std::size_t kSlowCallCount = 1024;
inline constexpr std::size_t kSlowStackCount = 128;
inline constexpr std::size_t kSlowStackWords = 4096;  // of each

inline constexpr std::size_t kSlowStringCount = 4;  // of a call
inline constexpr std::uint64_t kEndsWithZero = ~std::uint64_t{0};

struct SlowString {
  std::uint64_t size;   // of the whole, or kEndsWithZero
  std::uint32_t value;  // number of the argument, 6: the result
  std::uint32_t count;  // bytes that could be read
  char bytes[64];
};

struct SlowCall {
  std::uint64_t end;  // time stamp counter
  std::uint64_t ns;
  std::uint64_t number;  // in the thread
  std::uint64_t result;
  std::uint64_t return_address;
  std::uint64_t stack;  // the caller's stack pointer
  CallDetails details;
  std::uint32_t probe;
  std::int32_t tid;
  std::uint32_t place;       // of the thread
  std::uint32_t copy;        // of the stack, + 1; 0: there was no room
  std::uint32_t copy_words;  // of it that could be read
  bool is_detailed;
  bool unwound;
  std::uint32_t string_count;
  SlowString strings[kSlowStringCount];
};

struct SlowCalls {
  Atomic<KeptState>* states;  // kSlowCallCount; nullptr: never asked for
  SlowCall* calls;
  Atomic<KeptState>* stack_states;  // kSlowStackCount
  std::uint64_t (*stacks)[kSlowStackWords];
  Atomic<std::uint32_t> next;     // where the search for a free place begins
  Atomic<std::int32_t> room;      // calls that may still be kept until the next reading
  Atomic<std::uint32_t> working;  // hooks that are keeping a call
  std::uint32_t stack_words;      // that are copied of a stack
};
extern SlowCalls slow_calls;

// --- the control thread
// False: no memory. `stack_words`: of each stack.
bool prepare_slow_calls(std::uint32_t stack_words) noexcept;
// Details of calls are kept from now on; those above the threshold are kept as a whole.
void follow_slow_calls(std::uint32_t probe, std::uint64_t threshold_ns) noexcept;
// Before that. `strings`: as wire::read_strings() has them.
inline void choose_strings(std::uint32_t probe, std::uint64_t strings) noexcept {
  pool.probes[probe].strings.store(strings);
}
// No hook keeps a call of it any more when this returns, unless the thread was left without a CPU
// for longer than it waits.  Blocks: 20 ms.
void stop_slow_calls(std::uint32_t probe) noexcept;
// nullptr: none that is complete.  Lifetime: until it is freed.
const SlowCall* find_slow_call(std::size_t place) noexcept;
// call.copy_words of it; only if there are some.
const std::uint64_t* stack_of(const SlowCall& call) noexcept;
void free_slow_call(std::size_t place) noexcept;
// In the child of a fork, in its only thread.
void forget_slow_calls() noexcept;
// What keeping a call costs the program, with its strings.
inline constexpr std::uint64_t kSlowCallNs = 4000;
// As many calls are kept until the next reading.
void make_room_for_slow_calls(std::uint64_t calls) noexcept;
// When a call ended, on CLOCK_MONOTONIC. `now_ns` was read just now.
std::uint64_t end_ns_of(const SlowCall& call, std::uint64_t now_ns) noexcept;

}  // namespace swipr::trace
