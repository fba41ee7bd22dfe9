#include "preload/trace/calls/slow_calls.h"

#include <sys/syscall.h>
#include <time.h>

#include <cstring>

#include "preload/machine/raw_syscall.h"
#include "preload/trace/calls/pool.h"
#include "preload/trace/calls/sampled_calls.h"

namespace swipr::trace {

// Hooks read it at any moment, so nothing constructs it.
constinit SlowCalls slow_calls{};

bool prepare_slow_calls(std::uint32_t stack_words) noexcept {
  SlowCalls& all = slow_calls;
  all.stack_words = stack_words < kSlowStackWords ? stack_words : kSlowStackWords;
  if (all.states != nullptr) return true;
  struct Memory {
    SlowCall calls[kSlowCallCount];
    Atomic<KeptState> states[kSlowCallCount];
    Atomic<KeptState> stack_states[kSlowStackCount];
    alignas(4096) std::uint64_t stacks[kSlowStackCount][kSlowStackWords];
  };
  auto* const memory = static_cast<Memory*>(map_pool_memory(sizeof(Memory)));
  if (memory == nullptr) return false;
  all.calls = memory->calls;
  all.stack_states = memory->stack_states;
  all.stacks = memory->stacks;
  all.states = memory->states;
  return true;
}

void follow_slow_calls(std::uint32_t probe, std::uint64_t threshold_ns) noexcept {
  pool.probes[probe].keeps_details.store(1);
  pool.probes[probe].slow_ns.store(threshold_ns);
}

void stop_slow_calls(std::uint32_t probe) noexcept {
  pool.probes[probe].slow_ns.store(kNeverSlow);
  pool.probes[probe].keeps_details.store(0);
  const timespec pause{.tv_sec = 0, .tv_nsec = 200'000};
  // A read-modify-write, as the hook's increment is one: the two are in one order, so that either
  // the hook is seen here, or it sees the stores above. A load would allow neither.
  for (int round = 0; round < 100 && slow_calls.working.fetch_add(0) != 0; ++round) {
    machine::raw_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, reinterpret_cast<long>(&pause));
  }
}

const SlowCall* find_slow_call(std::size_t place) noexcept {
  const SlowCalls& all = slow_calls;
  const bool is_done = all.states != nullptr && all.states[place].load() == KeptState::kDone;
  return is_done ? &all.calls[place] : nullptr;
}

const std::uint64_t* stack_of(const SlowCall& call) noexcept {
  return slow_calls.stacks[call.copy - 1];
}

void free_slow_call(std::size_t place) noexcept {
  const std::uint32_t copy = slow_calls.calls[place].copy;
  if (copy != 0) slow_calls.stack_states[copy - 1].store(KeptState::kFree);
  slow_calls.states[place].store(KeptState::kFree);
}

void make_room_for_slow_calls(std::uint64_t calls) noexcept {
  slow_calls.room.store(static_cast<std::int32_t>(calls < kSlowCallCount ? calls : kSlowCallCount));
}

void forget_slow_calls() noexcept {
  SlowCalls& all = slow_calls;
  all.working.store(0);
  for (Probe& probe : pool.probes) {
    probe.slow_ns.store(kNeverSlow);
    probe.keeps_details.store(0);
  }
  for (std::size_t at = 0; all.states != nullptr && at < kSlowCallCount; ++at) {
    all.states[at].store(KeptState::kFree);
    if (at < kSlowStackCount) all.stack_states[at].store(KeptState::kFree);
  }
}

std::uint64_t end_ns_of(const SlowCall& call, std::uint64_t now_ns) noexcept {
  const std::uint64_t age_ns = ns_between(call.end, stamp_now());
  return age_ns < now_ns ? now_ns - age_ns : 0;
}

}  // namespace swipr::trace
