// A thread's data in one recording. Each part has one owner, the only one that writes it. Times in
// ns since the recording's start, clocks in ns of CPU. Context: control thread.
#pragma once

#include <cstdint>

#include "preload/agent/base/moment.h"
#include "preload/agent/proc/wait_channels.h"
#include "preload/agent/record/accounts/burst_judge.h"
#include "preload/agent/record/accounts/run_state.h"
#include "preload/agent/record/stream/stream_writer.h"

namespace swipr::agent {

// Times of a thread, on its clocks, up to which the stream accounts for it.
struct Accounted {
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;
  std::int64_t runqueue_ns = 0;
  std::int64_t off_cpu_ns = 0;  // wall minus CPU: may not advance although both have
};

// The thread's times: those in the stream, and the open run after them.
class ThreadAccount {
 public:
  std::int64_t tick_ns() const noexcept { return tick_ns_; }
  std::int64_t cpu_ns() const noexcept { return cpu_ns_; }
  std::int64_t runqueue_ns() const noexcept { return runqueue_ns_; }
  bool has_run() const noexcept { return cpu_ns_ > written_.cpu_ns; }

 private:
  friend class ThreadAccounts;
  Accounted until(std::int64_t cpu_ns) const noexcept {
    return {tick_ns_, cpu_ns, runqueue_ns_, tick_ns_ - cpu_ns};
  }

  // The open run: up to its last tick.
  std::uint32_t ticks_ = 0;  // that no entry stands for yet
  std::int64_t tick_ns_ = 0;
  std::int64_t cpu_ns_ = 0;
  std::uint64_t counted_ticks_ = 0;  // of the recording
  // The stream contains everything up to these.
  Accounted written_;
  std::int64_t runqueue_ns_ = 0;
  std::int64_t start_ns_ = 0;
};

// The stack of the CPU time of a thread that runs in bursts. While `is_timed`, CPU time goes to the
// stacks that its CPU timer (cpu_timers.h) or ticks take while it runs, and the rest of its time to
// the stacks of its waits.
class BurstStack {
 public:
  bool is_timed() const noexcept { return is_timed_; }

 private:
  friend class ThreadAccounts;

  bool is_timed_ = false;
  bool answered_ = false;  // the timer took `stack_`, and no time was credited to it yet
  std::uint32_t stack_ = 0;
  std::uint32_t generation_ = 0;
  std::int64_t ticks_cpu_ns_ = 0;  // the clock up to which ticks stand for CPU time
  std::int64_t met_cpu_ns_ = 0;    // the clock when a tick took its last stack; 0: none yet
};

// Results of checks of the thread. Owner: Sampler.
struct RecordedLooks {
  std::uint8_t still = 0;              // consecutive checks that found the clock unchanged
  std::uint32_t hidden_wait = 0;       // which HiddenWait the kept stack is of
  std::uint32_t asked_wait = 0;        // in which it was signalled
  bool runs_in_bursts = false;         // it has run and waited again
  std::uint8_t busy = 0;               // consecutive checks that found it running, in bursts
  Moment wait_is_young_until{};        // zero: it has slept since its last check
  std::int64_t runqueue_tick_ns = -1;  // when its waiting for a CPU was last read; -1: never
  bool knows_queued_since = false;     // that was read at the last check or later
  BurstJudge bursts;
  HolderNote holder;  // of the lock that it waits for, when its stack was taken
};

struct alignas(64) RecordedThread {
  std::uint32_t generation = 0;  // of the thread list's entry; 0: not observed yet
  // First the data that every check needs.
  ThreadAccount account;
  RunState run;
  BurstStack burst;
  RecordedLooks looks;
  ThreadInStream stream;
};

}  // namespace swipr::agent
