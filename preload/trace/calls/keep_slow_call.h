// The hooks' part of slow_calls.h. Included by hooks.cc only, as it is compiled for them.
#pragma once

#include <sys/syscall.h>

#include "preload/machine/raw_syscall.h"
#include "preload/trace/calls/machine.h"
#include "preload/trace/calls/slow_calls.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::trace {

struct Ending {
  std::uint64_t time;  // time stamp counter
  std::uint64_t result;
  bool unwound;
};

inline void keep_details(std::uint32_t number, const Arrival& arrival,
                         std::uint64_t frame) noexcept {
  CallDetails& details = pool.details[number];
  for (std::ptrdiff_t at = 0; at < 6; ++at) details.arguments[at] = arrival.argument(at);
  details.frame = frame;
  details.base = arrival.base();
  pool.calls[number].is_detailed = true;
}

// The next free place. kSlowCallCount: there is none near.
inline std::size_t take_slow_place() noexcept {
  if (slow_calls.room.load() <= 0 || slow_calls.room.fetch_add(-1) <= 0) return kSlowCallCount;
  return take_next_place(slow_calls.states, kSlowCallCount, slow_calls.next);
}

// The first free one, + 1, so that few are ever touched. 0: none.
inline std::uint32_t take_slow_stack() noexcept {
  for (std::uint32_t stack = 0; stack < kSlowStackCount; ++stack) {
    if (try_take(slow_calls.stack_states[stack])) return stack + 1;
  }
  return 0;
}

// By a system call, which does not fault where memory ends. Returns how many could be copied; 0 or
// less: none.
inline long copy_bytes(void* to, std::uint64_t from, std::uint64_t bytes) noexcept {
  struct Piece {
    std::uint64_t address;
    std::uint64_t bytes;
  };
  const Piece target{reinterpret_cast<std::uint64_t>(to), bytes};
  const Piece source{from, bytes};
  return machine::raw_syscall(SYS_process_vm_readv, pool.pid, reinterpret_cast<long>(&target), 1L,
                              reinterpret_cast<long>(&source), 1L, 0L);
}

// Puts what thunks stand for in their place: they stand for other calls when the copy is read.
// Returns the number of words.
inline std::uint32_t copy_stack(std::uint64_t* copy, std::uint64_t from,
                                std::uint32_t words) noexcept {
  const long result = copy_bytes(copy, from, words * sizeof(std::uint64_t));
  if (result <= 0) return 0;
  const auto read = static_cast<std::uint32_t>(result / static_cast<long>(sizeof(std::uint64_t)));
  const auto thunks = reinterpret_cast<std::uint64_t>(swipr_trace_thunks);
  for (std::uint32_t word = 0; word < read; ++word) {
    const std::uint64_t distance = unwind::plain_return_address(copy[word]) - thunks;
    if (distance >= kCallCount * kThunkBytes) continue;
    copy[word] = swipr_trace_returns[distance / kThunkBytes].address_minus_1 + 1;
  }
  return read;
}

// Strings of arguments and of the result, as they are now. `places`: a byte for each value.
inline void copy_strings(SlowCall& slow, std::uint64_t places) noexcept {
  const auto value_of = [&slow](std::uint32_t value) {
    return value < 6 ? slow.details.arguments[value] : slow.result;
  };
  for (std::uint32_t value = 0; places != 0 && slow.string_count < kSlowStringCount;
       ++value, places >>= 8) {
    const std::uint64_t place = places & 0xff;
    SlowString& string = slow.strings[slow.string_count];
    std::uint64_t pair[2] = {value_of(value), value_of(value + 1)};
    if (place == 0) continue;
    if (place >= 4 && copy_bytes(pair, pair[0], sizeof(pair)) != sizeof(pair)) continue;
    const std::uint64_t second = place == 1 ? 0 : place & 1;  // the address is
    string.size = place == 1 ? kEndsWithZero : pair[1 - second];
    const std::uint64_t wanted =
        string.size < sizeof(string.bytes) ? string.size : sizeof(string.bytes);
    const long count = wanted == 0 ? 0 : copy_bytes(string.bytes, pair[second], wanted);
    if (wanted != 0 && count <= 0) continue;
    string.value = value;
    string.count = static_cast<std::uint32_t>(count);
    ++slow.string_count;
  }
}

inline void fill(SlowCall& slow, std::uint32_t number, const ThreadCalls& thread, std::uint64_t ns,
                 const Ending& ending) noexcept {
  const Call& call = pool.calls[number];
  slow.end = ending.time;
  slow.ns = ns;
  slow.number = call.number;
  slow.result = ending.result;
  slow.unwound = ending.unwound;
  slow.return_address = swipr_trace_returns[number].address_minus_1 + 1;
  slow.stack = reinterpret_cast<std::uint64_t>(call.slot + kReturnWords);
  slow.is_detailed = call.is_detailed;
  if (call.is_detailed) slow.details = pool.details[number];
  slow.probe = call.probe;
  slow.tid = thread.tid.load();
  slow.place = static_cast<std::uint32_t>(&thread - pool.threads);
  slow.copy = call.is_detailed && slow_calls.stack_words != 0 ? take_slow_stack() : 0;
  slow.copy_words = 0;
  slow.string_count = 0;
  if (call.is_detailed) copy_strings(slow, pool.probes[call.probe].strings.load());
  if (slow.copy != 0) {
    slow.copy_words =
        copy_stack(slow_calls.stacks[slow.copy - 1], slow.stack, slow_calls.stack_words);
  }
}

// The control thread stops it (stop_slow_calls), and then waits for who is in here.
[[gnu::noinline]] void keep_slow_call(std::uint32_t number, const ThreadCalls& thread,
                                      std::uint64_t ns, const Ending& ending,
                                      Histogram& histogram) noexcept {
  slow_calls.working.fetch_add(1);
  if (ns > pool.probes[pool.calls[number].probe].slow_ns.load()) {
    ++histogram.slow;
    histogram.slow_ns += ns;
    const std::size_t place = take_slow_place();
    if (place == kSlowCallCount) {
      ++histogram.slow_lost;
    } else {
      fill(slow_calls.calls[place], number, thread, ns, ending);
      slow_calls.states[place].store(KeptState::kDone);
    }
  }
  slow_calls.working.fetch_add(static_cast<std::uint32_t>(-1));
}

}  // namespace swipr::trace
