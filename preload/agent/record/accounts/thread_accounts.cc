#include "preload/agent/record/accounts/thread_accounts.h"

#include <algorithm>

namespace swipr::agent {

using wire::RecordMode;
using wire::ThreadState;

void ThreadAccounts::release() noexcept {
  threads_.release();
  staged_.release();
}

// --- threads

RecordedThread* ThreadAccounts::find(std::uint32_t place, const Thread& thread) noexcept {
  if (place >= threads_.size() || threads_[place].generation != thread.generation) return nullptr;
  return &threads_[place];
}

RecordedThread* ThreadAccounts::thread(std::uint32_t place, const Thread& thread,
                                       std::int64_t cpu_ns, bool existed) noexcept {
  if (RecordedThread* known = find(place, thread)) return known;
  if (place >= threads_.size() && !threads_.resize(place + 1)) return nullptr;
  RecordedThread& met = threads_[place];
  met = RecordedThread{};
  met.generation = thread.generation;
  met.stream.index = next_index_++;
  met.stream.tid = thread.tid;
  ThreadAccount& account = met.account;
  if (existed) {
    account.written_.cpu_ns = cpu_ns;
  } else {
    // In the middle of the possible range, but early enough for the CPU time that it has used.
    const std::int64_t middle = previous_tick_ns_ + (tick_ns_ - previous_tick_ns_) / 2;
    account.start_ns_ = std::clamp(std::min(middle, tick_ns_ - cpu_ns), std::int64_t{0}, tick_ns_);
  }
  account.written_.wall_ns = met.stream.tick_ns = account.tick_ns_ = account.start_ns_;
  account.cpu_ns_ = account.written_.cpu_ns;
  account.written_.off_cpu_ns = account.start_ns_ - account.cpu_ns_;
  account.counted_ticks_ = existed || ticks() == 0 ? ticks() : ticks() - 1;
  ++counters_.threads;
  return &met;
}

void ThreadAccounts::drop(std::uint32_t place, const Thread& thread) noexcept {
  RecordedThread* known = find(place, thread);
  if (known == nullptr) return;
  ThreadAccount& account = known->account;
  // Skipped since its last check; it existed at the previous tick.
  const bool continues = mode_ == RecordMode::kWall || holds(*known);
  if (continues && account.counted_ticks_ + 1 < ticks() && account.tick_ns_ < previous_tick_ns_) {
    account.ticks_ += static_cast<std::uint32_t>(ticks() - 1 - account.counted_ticks_);
    account.counted_ticks_ = ticks() - 1;
    account.tick_ns_ = previous_tick_ns_;
  }
  if (!known->burst.is_timed()) end_open_run(*known);
  stage_rest(*known, true);
  known->run.reopen();
}

// --- a thread's open run

void ThreadAccounts::extend_run(RecordedThread& thread, std::int64_t cpu_ns) noexcept {
  ThreadAccount& account = thread.account;
  auto passed = static_cast<std::uint32_t>(ticks() - account.counted_ticks_);
  if (mode_ != RecordMode::kWall) {
    // At ticks that skipped the thread, its state is known only if it has not run.
    if (cpu_ns != account.cpu_ns_) {
      passed = std::min(passed, 1u);
    } else if (mode_ == RecordMode::kCpu) {
      passed = 0;
    }
  }
  account.ticks_ += passed;
  account.counted_ticks_ = ticks();
  account.tick_ns_ = tick_ns_;
  note_cpu(thread, cpu_ns);
}

void ThreadAccounts::skip_to_now(RecordedThread& thread, std::int64_t cpu_ns) noexcept {
  ThreadAccount& account = thread.account;
  account.tick_ns_ = tick_ns_;
  account.cpu_ns_ = cpu_ns;
  account.written_ = account.until(cpu_ns);
  account.counted_ticks_ = ticks();
}

bool ThreadAccounts::is_long(const RecordedThread& thread) const noexcept {
  constexpr std::int64_t kLongRunNs = 1'000'000'000;
  return tick_ns_ - thread.account.written_.wall_ns >= kLongRunNs;
}

bool ThreadAccounts::has_hardly_slept(const RecordedThread& thread) const noexcept {
  const ThreadAccount& account = thread.account;
  const Accounted now = account.until(account.cpu_ns_);
  const std::int64_t off_cpu_ns = now.off_cpu_ns - account.written_.off_cpu_ns;
  const std::int64_t slept_ns = off_cpu_ns - (now.runqueue_ns - account.written_.runqueue_ns);
  return splits_runqueue_ && off_cpu_ns >= interval_ns_ && 8 * slept_ns <= off_cpu_ns;
}

void ThreadAccounts::end_run(RecordedThread& thread, std::uint32_t stack,
                             ThreadState state) noexcept {
  ThreadAccount& account = thread.account;
  const bool split = thread.burst.is_timed() && mode_ == RecordMode::kWall;
  if (account.ticks_ == 0 && !split) return;
  if (state == ThreadState::kUnknown && mode_ != RecordMode::kWall) return leave_out_run(thread);
  // Ticks that stand for the CPU time of a timed thread stay in the run, for the stack of that
  // time.
  const std::uint32_t kept = split ? std::min(cpu_ticks(thread), account.ticks_) : 0;
  const Part part = split ? Part::kOffCpu : Part::kAll;
  stage(thread, stack, state, account.ticks_ - kept, part, account.cpu_ns_);
  account.ticks_ = kept;
}

void ThreadAccounts::end_queued_run(RecordedThread& thread, std::uint32_t stack) noexcept {
  ThreadAccount& account = thread.account;
  if (account.ticks_ == 0) return;
  // The kernel adds a wait to schedstat when it is over: the sum is updated later.
  if (splits_runqueue_) {
    account.runqueue_ns_ = account.written_.runqueue_ns + (account.tick_ns_ - account.cpu_ns_) -
                           account.written_.off_cpu_ns;
  }
  end_run(thread, stack, ThreadState::kRunnable);
}

void ThreadAccounts::end_open_run(RecordedThread& thread) noexcept {
  const ThreadState state = thread.run.thread_state();
  if (!holds(thread)) return end_run(thread, 0, state);
  if (state == ThreadState::kRunnable) return end_queued_run(thread, thread.run.stack());
  end_run(thread, thread.run.stack(), state);
}

// --- what is left over

void ThreadAccounts::end_settled_runs() noexcept {
  for (RecordedThread& thread : threads_) {
    if (holds(thread)) end_open_run(thread);
  }
}

void ThreadAccounts::reopen_broken_stacks() noexcept {
  for (RecordedThread& thread : threads_) {
    if (!holds(thread)) continue;
    if ((stream_.stacks().stack(thread.run.stack()).flags & wire::kStackBroken) == 0) continue;
    end_open_run(thread);
    thread.run.reopen();
  }
}

void ThreadAccounts::stage_rest(RecordedThread& thread, bool last) noexcept {
  const bool wall = mode_ == RecordMode::kWall;
  if (thread.burst.is_timed()) end_timed(thread, last);
  if (thread.account.ticks_ != 0) return;
  if (wall && (!last || !thread.account.has_run())) return;
  const auto state = mode_ == RecordMode::kCpu ? ThreadState::kRunning : ThreadState::kBlocked;
  // Without memory for it the sums do not include it.
  stage(thread, wall ? wait_stack(thread) : 0, state, 0, Part::kAll, thread.account.cpu_ns_);
}

void ThreadAccounts::stage_rests(bool last) noexcept {
  for (RecordedThread& thread : threads_) {
    if (thread.generation != 0) stage_rest(thread, last);
  }
}

void ThreadAccounts::stage_ends() noexcept {
  for (RecordedThread& thread : threads_) {
    const bool open = thread.generation != 0 && thread.account.ticks_ != 0;
    if (open && !thread.burst.is_timed()) end_open_run(thread);
  }
  stage_rests(true);
}

}  // namespace swipr::agent
