// Where one recording's times begin and end: accounts of the process and of single threads.
#include <algorithm>

#include "preload/agent/proc/thread_clock.h"
#include "preload/agent/record/recording.h"

namespace swipr::agent {

void Recording::start_accounts(Moment now) noexcept {
  const std::chrono::nanoseconds own_cpu = read_own_clock();
  start_process_cpu_ns_ = read_process_clock().count();
  start_agent_cpu_ns_ = own_cpu.count();
  budget_.start(request_.max_overhead_permille, request_.interval, now, own_cpu);
  end_process_cpu_ns_ = start_process_cpu_ns_;
  end_agent_cpu_ns_ = start_agent_cpu_ns_;
  write_totals();  // exec may replace the image before there are others
}

void Recording::freeze_clocks() noexcept {
  end_process_cpu_ns_ = read_process_clock().count();
  end_agent_cpu_ns_ = read_own_clock().count();
}

void Recording::drop_thread(std::uint32_t place, const Thread& thread) noexcept {
  RecordedThread* known = find_thread(place, thread);
  if (place < next_looks_.size()) next_looks_[place] = 0;
  if (known == nullptr) return;
  // Left out since its last look; it was there at the previous tick.
  const bool continues = request_.mode == wire::RecordMode::kWall || holds(*known);
  if (continues && known->counted_ticks + 1 < counters_.ticks &&
      known->run_ns < previous_tick_ns_) {
    known->run_ticks += static_cast<std::uint32_t>(counters_.ticks - 1 - known->counted_ticks);
    known->counted_ticks = counters_.ticks - 1;
    known->run_ns = previous_tick_ns_;
  }
  if (!known->is_timed) end_open_run(place, *known);
  stage_rest(place, *known, true);
  known->run = RecordedThread::Run::kNone;
}

void Recording::end_settled_runs(ThreadList& threads) noexcept {
  for (std::uint32_t place = 0; place < threads_.size(); ++place) {
    RecordedThread& thread = threads_[place];
    if (holds(thread)) end_open_run(place, thread);
    credit_met_stack(place, thread, thread.run_cpu_ns);
  }
  write_staged(threads);
}

void Recording::start_stack_generation(ThreadList& threads) noexcept {
  end_settled_runs(threads);
  stacks_.start_generation();
  ++counters_.stack_generations;
}

// What the thread has used and no sample stands for: an entry without ticks, and without stack in
// recordings of only CPU or off-CPU time.
void Recording::stage_rest(std::uint32_t place, RecordedThread& thread, bool last) noexcept {
  const bool wall = request_.mode == wire::RecordMode::kWall;
  if (thread.is_timed) end_timed(place, thread, last);
  if (thread.run_ticks != 0) return;
  if (wall && (!last || thread.run_cpu_ns <= thread.written.cpu_ns)) return;
  const bool cpu = request_.mode == wire::RecordMode::kCpu;
  // Without memory for it the sums lack it.
  static_cast<void>(stage(place, thread, wall ? wait_stack(thread) : 0,
                          cpu ? wire::ThreadState::kRunning : wire::ThreadState::kBlocked, 0,
                          Part::kAll));
}

// --- threads with a CPU timer

void Recording::set_timed(std::uint32_t place, RecordedThread& thread, bool timed) noexcept {
  if (thread.is_timed == timed) return;
  credit_met_stack(place, thread, middle_since_met(thread));
  thread.is_timed = timed;
  thread.cpu_answered = false;
  thread.cpu_stack = 0;
  thread.bursts.restart();
  thread.ticks_cpu_ns = thread.run_cpu_ns;
}

void Recording::note_cpu_stack(RecordedThread& thread, std::uint32_t stack) noexcept {
  if (!thread.is_timed || stack == 0) return;
  thread.cpu_stack = stack;
  thread.cpu_stack_generation = stacks_.generation();
  thread.cpu_answered = true;
  thread.met_cpu_ns = 0;
  ++counters_.cpu_timer_stacks;
}

// Of a stack that a tick took, that tick; else the number of ticks that stand for what it has used
// since ticks last did, to the nearest.
std::uint32_t Recording::cpu_ticks(const RecordedThread& thread) const noexcept {
  if (thread.met_cpu_ns != 0) return 1;
  const std::int64_t interval_ns = request_.interval.count();
  const std::int64_t used_ns = thread.run_cpu_ns - thread.ticks_cpu_ns + interval_ns / 2;
  return used_ns > 0 ? static_cast<std::uint32_t>(used_ns / interval_ns) : 0;
}

bool Recording::credit_cpu(std::uint32_t place, RecordedThread& thread) noexcept {
  if (!thread.cpu_answered) return false;
  thread.cpu_answered = false;
  if (thread.cpu_stack_generation != stacks_.generation()) return false;
  const std::uint32_t ticks = cpu_ticks(thread);
  credit_cpu_until(place, thread, thread.run_cpu_ns, ticks);
  thread.ticks_cpu_ns += ticks * request_.interval.count();
  return true;
}

void Recording::credit_cpu_until(std::uint32_t place, RecordedThread& thread, std::int64_t cpu_ns,
                                 std::uint32_t ticks) noexcept {
  const bool wall = request_.mode == wire::RecordMode::kWall;
  if (wall) ticks = std::min(ticks, thread.run_ticks);
  constexpr auto kRunning = wire::ThreadState::kRunning;
  if (!stage_until(place, thread, thread.cpu_stack, kRunning, ticks, Part::kCpu, cpu_ns)) {
    counters_.samples_dropped += ticks;
  }
  if (wall) thread.run_ticks -= ticks;
}

std::int64_t Recording::middle_since_met(const RecordedThread& thread) noexcept {
  return thread.met_cpu_ns + (thread.run_cpu_ns - thread.met_cpu_ns) / 2;
}

void Recording::note_met_stack(std::uint32_t place, RecordedThread& thread,
                               std::uint32_t stack) noexcept {
  if (!thread.is_timed || stack == 0) return;
  credit_met_stack(place, thread, middle_since_met(thread));
  thread.cpu_stack = stack;
  thread.cpu_stack_generation = stacks_.generation();
  thread.met_cpu_ns = thread.run_cpu_ns;
  ++counters_.burst_tick_stacks;
}

void Recording::credit_met_stack(std::uint32_t place, RecordedThread& thread,
                                 std::int64_t cpu_ns) noexcept {
  if (thread.met_cpu_ns == 0) return;
  if (thread.cpu_stack_generation == stacks_.generation()) {
    credit_cpu_until(place, thread, cpu_ns, 1);
    thread.ticks_cpu_ns = cpu_ns;
  }
  thread.met_cpu_ns = 0;
  thread.cpu_stack = 0;
}

std::uint32_t Recording::wait_stack(const RecordedThread& thread) const noexcept {
  return thread.stack_generation == stacks_.generation() ? thread.stack : 0;
}

std::uint32_t Recording::run_stack(const RecordedThread& thread) const noexcept {
  return thread.cpu_stack_generation == stacks_.generation() ? thread.cpu_stack : 0;
}

bool Recording::has_hardly_slept(const RecordedThread& thread) const noexcept {
  const std::int64_t off_cpu_ns = thread.run_ns - thread.run_cpu_ns - thread.written.off_cpu_ns;
  const std::int64_t slept_ns = off_cpu_ns - thread.run_runqueue_ns + thread.written.runqueue_ns;
  return splits_runqueue_ && off_cpu_ns >= request_.interval.count() && 8 * slept_ns <= off_cpu_ns;
}

// What it has used since the timer took its last stack goes there, too; without one it stays in the
// wait, as that of threads without timer does. Where it goes on, its run stays open.
void Recording::end_timed(std::uint32_t place, RecordedThread& thread, bool last) noexcept {
  const bool wall = request_.mode == wire::RecordMode::kWall;
  const bool seen = run_stack(thread) != 0;
  if (!seen && last) thread.is_timed = false;
  if (wall && last) end_run(place, thread, wait_stack(thread), wire::ThreadState::kBlocked);
  if (!seen) return;
  if (thread.met_cpu_ns != 0) return credit_met_stack(place, thread, thread.run_cpu_ns);
  thread.cpu_answered = true;
  if (last) {
    thread.ticks_cpu_ns = thread.run_cpu_ns - thread.run_ticks * request_.interval.count();
  }
  credit_cpu(place, thread);
}

void Recording::stage_rests(bool last) noexcept {
  for (std::uint32_t place = 0; place < threads_.size(); ++place) {
    if (threads_[place].generation != 0) stage_rest(place, threads_[place], last);
  }
}

void Recording::write_so_far(const ModuleMap& modules, ThreadList& threads, Moment now) noexcept {
  close_tick(modules, threads);
  end_settled_runs(threads);
  stage_rests(false);
  write_staged(threads);
  freeze_clocks();
  if (write_totals()) totals_at_ = now;
  send_now(now);
}

void Recording::close_account(RecordedThread& thread, std::int64_t clock_ns) noexcept {
  if (!leaves_out(thread)) {
    beyond_cpu_ns_ += clock_ns - thread.run_cpu_ns;
  } else {
    extend_run(thread, clock_ns);
  }
}

void Recording::close_accounts(std::uint32_t live_threads) noexcept {
  freeze_clocks();
  end_process_cpu_ns_ -= beyond_cpu_ns_;
  const std::int64_t agent_cpu_ns = end_agent_cpu_ns_ - start_agent_cpu_ns_;
  const std::int64_t rest_ns =
      end_process_cpu_ns_ - start_process_cpu_ns_ - agent_cpu_ns - attributed_cpu_ns_;
  // While the clocks are read one after the other, threads go on.
  const std::int64_t uncertain_ns = 1'000'000 + std::int64_t{1'000} * live_threads;
  if (rest_ns > uncertain_ns) ended_cpu_ns_ = rest_ns;
  if (rest_ns < 0) end_process_cpu_ns_ -= rest_ns;
}

void Recording::write_end(wire::EndReason reason, std::string_view text, const ModuleMap& modules,
                          ThreadList& threads) noexcept {
  for (std::uint32_t place = 0; place < threads_.size(); ++place) {
    RecordedThread& thread = threads_[place];
    if (thread.generation == 0 || thread.run_ticks == 0 || thread.is_timed) continue;
    end_open_run(place, thread);
  }
  stage_rests(true);
  close_tick(modules, threads);
  complete_ = true;
  if (ended_cpu_ns_ > 0 && request_.mode != wire::RecordMode::kOffCpu) write_ended_threads();
  write_totals();
  const wire::EndRecord record{
      .reason = reason, .duration_ns = static_cast<std::uint64_t>(tick_ns_), .text = text};
  writer_.put([&record](wire::Encoder& out) { wire::encode(out, record); });
  writer_.flush();
}

}  // namespace swipr::agent
