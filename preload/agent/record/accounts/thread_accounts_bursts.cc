// Attributes CPU time of threads that run in bursts to the stacks that were taken while they ran.
#include <algorithm>

#include "preload/agent/record/accounts/thread_accounts.h"

namespace swipr::agent {

using wire::RecordMode;
using wire::ThreadState;

void ThreadAccounts::set_timed(RecordedThread& thread, bool timed) noexcept {
  if (thread.burst.is_timed_ == timed) return;
  credit_met_stack(thread, middle_since_met(thread));
  thread.burst.is_timed_ = timed;
  thread.burst.answered_ = false;
  thread.burst.stack_ = 0;
  thread.burst.ticks_cpu_ns_ = thread.account.cpu_ns_;
}

void ThreadAccounts::note_timer_stack(RecordedThread& thread, std::uint32_t stack) noexcept {
  BurstStack& burst = thread.burst;
  if (!burst.is_timed_ || stack == 0) return;
  burst.stack_ = stack;
  burst.generation_ = stack_generation();
  burst.answered_ = true;
  burst.met_cpu_ns_ = 0;
  ++counters_.cpu_timer_stacks;
}

void ThreadAccounts::note_met_stack(RecordedThread& thread, std::uint32_t stack) noexcept {
  BurstStack& burst = thread.burst;
  if (!burst.is_timed_ || stack == 0) return;
  credit_met_stack(thread, middle_since_met(thread));
  burst.stack_ = stack;
  burst.generation_ = stack_generation();
  burst.met_cpu_ns_ = thread.account.cpu_ns_;
  ++counters_.burst_tick_stacks;
}

std::uint32_t ThreadAccounts::run_stack(const RecordedThread& thread) const noexcept {
  return thread.burst.generation_ == stack_generation() ? thread.burst.stack_ : 0;
}

// For a stack that a tick took, that tick; otherwise the number of ticks that stand for the CPU
// time since the last such tick, rounded.
std::uint32_t ThreadAccounts::cpu_ticks(const RecordedThread& thread) const noexcept {
  if (thread.burst.met_cpu_ns_ != 0) return 1;
  const std::int64_t used_ns =
      thread.account.cpu_ns_ - thread.burst.ticks_cpu_ns_ + interval_ns_ / 2;
  return used_ns > 0 ? static_cast<std::uint32_t>(used_ns / interval_ns_) : 0;
}

bool ThreadAccounts::credit_timer_stack(RecordedThread& thread) noexcept {
  if (!thread.burst.answered_) return false;
  thread.burst.answered_ = false;
  if (thread.burst.generation_ != stack_generation()) return false;
  const std::uint32_t ticks = cpu_ticks(thread);
  credit_cpu_until(thread, thread.account.cpu_ns_, ticks);
  thread.burst.ticks_cpu_ns_ += ticks * interval_ns_;
  return true;
}

void ThreadAccounts::credit_cpu_until(RecordedThread& thread, std::int64_t cpu_ns,
                                      std::uint32_t ticks) noexcept {
  const bool wall = mode_ == RecordMode::kWall;
  if (wall) ticks = std::min(ticks, thread.account.ticks_);
  stage(thread, thread.burst.stack_, ThreadState::kRunning, ticks, Part::kCpu, cpu_ns);
  if (wall) thread.account.ticks_ -= ticks;
}

std::int64_t ThreadAccounts::middle_since_met(const RecordedThread& thread) noexcept {
  const std::int64_t met_cpu_ns = thread.burst.met_cpu_ns_;
  return met_cpu_ns + (thread.account.cpu_ns_ - met_cpu_ns) / 2;
}

void ThreadAccounts::credit_met_stack(RecordedThread& thread, std::int64_t cpu_ns) noexcept {
  BurstStack& burst = thread.burst;
  if (burst.met_cpu_ns_ == 0) return;
  if (burst.generation_ == stack_generation()) {
    credit_cpu_until(thread, cpu_ns, 1);
    burst.ticks_cpu_ns_ = cpu_ns;
  }
  burst.met_cpu_ns_ = 0;
  burst.stack_ = 0;
}

// CPU time since the timer took its last stack goes to that stack, too; without one it stays in the
// wait, as for threads without a timer. If the thread continues, its run stays open.
void ThreadAccounts::end_timed(RecordedThread& thread, bool last) noexcept {
  const bool seen = run_stack(thread) != 0;
  if (!seen && last) thread.burst.is_timed_ = false;
  if (mode_ == RecordMode::kWall && last)
    end_run(thread, wait_stack(thread), ThreadState::kBlocked);
  if (!seen) return;
  const std::int64_t cpu_ns = thread.account.cpu_ns_;
  if (thread.burst.met_cpu_ns_ != 0) return credit_met_stack(thread, cpu_ns);
  thread.burst.answered_ = true;
  if (last) thread.burst.ticks_cpu_ns_ = cpu_ns - thread.account.ticks_ * interval_ns_;
  credit_timer_stack(thread);
}

}  // namespace swipr::agent
