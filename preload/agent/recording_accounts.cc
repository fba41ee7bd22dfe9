// Where one recording's times begin and end: accounts of the process and of single threads.
#include <algorithm>

#include "preload/agent/recording.h"
#include "preload/agent/thread_clock.h"

namespace swipr::agent {

void Recording::start_accounts(Moment now) noexcept {
  const std::chrono::nanoseconds own_cpu = read_own_clock();
  start_process_cpu_ns_ = read_process_clock().count();
  start_agent_cpu_ns_ = own_cpu.count();
  budget_.start(request_.max_overhead_permille, request_.interval, now, own_cpu);
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
  end_open_run(place, *known);
  stage_rest(place, *known);
  known->run = RecordedThread::Run::kNone;
}

void Recording::end_settled_runs(ThreadList& threads) noexcept {
  for (std::uint32_t place = 0; place < threads_.size(); ++place) {
    RecordedThread& thread = threads_[place];
    if (holds(thread)) end_open_run(place, thread);
  }
  write_staged(threads);
}

void Recording::start_stack_generation(ThreadList& threads) noexcept {
  end_settled_runs(threads);
  stacks_.start_generation();
  ++counters_.stack_generations;
}

// What the thread has used and no sample of the mode stands for: an entry without stack and ticks.
void Recording::stage_rest(std::uint32_t place, const RecordedThread& thread) noexcept {
  if (request_.mode == wire::RecordMode::kWall || thread.run_ticks != 0) return;
  const bool cpu = request_.mode == wire::RecordMode::kCpu;
  // Without memory for it the sums lack it.
  static_cast<void>(
      stage(place, thread, 0, cpu ? wire::ThreadState::kRunning : wire::ThreadState::kBlocked));
}

void Recording::stage_rests() noexcept {
  for (std::uint32_t place = 0; place < threads_.size(); ++place) {
    if (threads_[place].generation != 0) stage_rest(place, threads_[place]);
  }
}

void Recording::write_so_far(const ModuleMap& modules, ThreadList& threads, Moment now) noexcept {
  close_tick(modules, threads);
  end_settled_runs(threads);
  stage_rests();
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
    if (thread.generation == 0 || thread.run_ticks == 0) continue;
    end_open_run(place, thread);
  }
  stage_rests();
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
