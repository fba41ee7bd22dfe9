// Attributes CPU time of threads that run in bursts to the stacks that were taken while they ran.
#include <algorithm>

#include "preload/agent/record/accounts/burst_weight.h"
#include "preload/agent/record/accounts/thread_accounts.h"

namespace swipr::agent {

using wire::RecordMode;
using wire::ThreadState;

void ThreadAccounts::set_timed(RecordedThread& thread, bool timed) noexcept {
  if (thread.burst.is_timed_ == timed) return;
  thread.burst.is_timed_ = timed;
  thread.burst.answered_ = false;
  thread.burst.stack_ = 0;
  thread.burst.ticks_cpu_ns_ = thread.account.cpu_ns_;
  thread.burst.met_cpu_ns_ = 0;
}

void ThreadAccounts::note_timer_stack(RecordedThread& thread, std::uint32_t stack) noexcept {
  BurstStack& burst = thread.burst;
  if (!burst.is_timed_ || stack == 0) return;
  burst.stack_ = stack;
  burst.generation_ = stack_generation();
  burst.answered_ = true;
  ++counters_.cpu_timer_stacks;
}

void ThreadAccounts::note_met_stack(RecordedThread& thread, std::uint32_t stack) noexcept {
  BurstStack& burst = thread.burst;
  if (!burst.is_timed_ || stack == 0) return;
  burst.stack_ = stack;
  burst.generation_ = stack_generation();
  const std::int64_t from_ns = thread.account.written_.cpu_ns;
  const std::int64_t left_ns = std::max<std::int64_t>(burst.met_cpu_ns_ - from_ns, 0);
  const std::int64_t used_ns = std::max<std::int64_t>(thread.account.cpu_ns_ - from_ns, 0);
  burst.ticks_cpu_ns_ = from_ns + burst_weight_ns(interval_ns_, left_ns, used_ns);
  burst.met_cpu_ns_ = thread.account.cpu_ns_;
  credit_cpu_until(thread, burst.ticks_cpu_ns_, 1);
  ++counters_.burst_tick_stacks;
}

std::uint32_t ThreadAccounts::run_stack(const RecordedThread& thread) const noexcept {
  return thread.burst.generation_ == stack_generation() ? thread.burst.stack_ : 0;
}

// The number of ticks that stand for the CPU time since the last such tick, rounded.
std::uint32_t ThreadAccounts::cpu_ticks(const RecordedThread& thread) const noexcept {
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

// CPU time since its last stack was taken goes to that stack, too; without one it stays in the
// wait, as for threads without a timer. If the thread continues, its run stays open.
void ThreadAccounts::end_timed(RecordedThread& thread, bool last) noexcept {
  const bool seen = run_stack(thread) != 0;
  if (!seen && last) thread.burst.is_timed_ = false;
  if (mode_ == RecordMode::kWall && last)
    end_run(thread, wait_stack(thread), ThreadState::kBlocked);
  if (!seen) return;
  thread.burst.answered_ = true;
  if (last)
    thread.burst.ticks_cpu_ns_ = thread.account.cpu_ns_ - thread.account.ticks_ * interval_ns_;
  credit_timer_stack(thread);
}

}  // namespace swipr::agent
