// Counters of one recording. Names and meaning: common/wire/names.h, docs/RAW_FORMAT.md.
#pragma once

#include <cstdint>

namespace swipr::agent {

struct RecordingCounters {
  std::uint64_t ticks = 0;
  std::uint64_t ticks_missed = 0;
  std::uint64_t ticks_stretched = 0;  // some threads were skipped to stay within the budget
  std::uint64_t samples = 0;
  std::uint64_t samples_dropped = 0;
  std::uint64_t stacks_missing = 0;
  std::uint64_t stacks_walked = 0;
  std::uint64_t stacks_rooted = 0;
  std::uint64_t stacks_cut = 0;
  std::uint64_t stacks_nameless = 0;  // with functions that FunctionTable has no room for
  std::uint64_t signals_sent = 0;
  std::uint64_t signals_late = 0;
  std::uint64_t signals_lost = 0;  // discarded by the kernel
  std::uint64_t signals_bare = 0;  // answered without their cookie: signal_handler.h
  std::uint64_t signals_to_blocked = 0;
  std::uint64_t cpu_timer_stacks = 0;   // taken by CPU timers
  std::uint64_t burst_tick_stacks = 0;  // taken by ticks of threads that run in bursts
  std::uint64_t calls_interrupted = 0;  // signals that made a system call return EINTR
  std::uint64_t threads = 0;
  std::uint64_t stack_generations = 0;
  std::uint64_t labels_lost = 0;  // stacks without the labels that there was no memory for
  // With tasks.
  std::uint64_t tasks_moved = 0;     // looks in vain: it ran meanwhile
  std::uint64_t tasks_left_out = 0;  // at most, of one look
  std::uint64_t call_ends_lost = 0;  // of calls that samples met, because the stream was full
  // With SWIPR_UNWINDER.
  bool unwinder_missing = false;
};

}  // namespace swipr::agent
