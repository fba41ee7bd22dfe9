// The totals of a recording, and how it ended.
#include "preload/agent/record/recording.h"
#include "preload/labels/thread_labels.h"

namespace swipr::agent {

bool Recording::write_totals() noexcept {
  const StreamWriter::Compared compared = stream_.write_differences();
  write_user();
  return stream_.put([this, &compared](wire::Encoder& out) {
    namespace name = wire::counter;
    wire::TotalsEncoder totals(out, static_cast<std::uint64_t>(accounts_.tick_ns()));
    put_counters(totals);
    if (compared.stacks != 0) {
      totals.put(name::kStacksCompared, compared.stacks);
      totals.put(name::kStacksEqual, compared.equal);
      totals.put(name::kDifferencesLeftOut, compared.left_out);
    }
    totals.end();
  });
}

void Recording::put_counters(wire::TotalsEncoder& totals) const noexcept {
  namespace name = wire::counter;
  totals.put(name::kTicks, counters_.ticks);
  totals.put(name::kTicksMissed, counters_.ticks_missed);
  totals.put(name::kTicksStretched, counters_.ticks_stretched);
  totals.put(name::kSamples, counters_.samples);
  totals.put(name::kSamplesDropped, counters_.samples_dropped);
  totals.put(name::kStacksMissing, counters_.stacks_missing);
  totals.put(name::kStacksWalked, counters_.stacks_walked);
  totals.put(name::kStacksRooted, counters_.stacks_rooted);
  totals.put(name::kStacksCut, counters_.stacks_cut);
  totals.put(name::kStacksNameless, counters_.stacks_nameless);
  totals.put(name::kSignalsSent, counters_.signals_sent);
  totals.put(name::kSignalsLate, counters_.signals_late);
  totals.put("signals_lost", counters_.signals_lost);
  totals.put("signals_bare", counters_.signals_bare);
  totals.put("signals_to_blocked", counters_.signals_to_blocked);
  totals.put("cpu_timer_stacks", counters_.cpu_timer_stacks);
  totals.put("burst_tick_stacks", counters_.burst_tick_stacks);
  totals.put("calls_interrupted", counters_.calls_interrupted);
  totals.put("stack_generations", counters_.stack_generations);
  totals.put(name::kThreads, counters_.threads);
  totals.put(name::kProcessCpuNs, process_.process_cpu_ns());
  totals.put(name::kAgentCpuNs, process_.agent_cpu_ns());
  if (tasks_.is_open()) {
    totals.put("tasks_moved", counters_.tasks_moved);
    totals.put("tasks_left_out", counters_.tasks_left_out);
  }
  if (probes_.joins_samples()) {
    totals.put(name::kCallEndsLost, counters_.call_ends_lost + probes_.call_ends_lost());
  }
  put_label_losses(totals);
  if (counters_.unwinder_missing) totals.put(name::kUnwinderMissing, 1);
}

// Since the recording began.
void Recording::put_label_losses(wire::TotalsEncoder& totals) const noexcept {
  const std::uint64_t lost = labels::lost_count() - labels_lost_before_ + counters_.labels_lost;
  const std::uint64_t cut = labels::cut_count() - labels_cut_before_;
  if (lost != 0) totals.put(wire::counter::kLabelsLost, lost);
  if (cut != 0) totals.put(wire::counter::kLabelsCut, cut);
}

void Recording::write_so_far(const ModuleMap& modules, ThreadList& threads, Moment now) noexcept {
  close_tick(modules, threads);
  accounts_.end_settled_runs();
  write_staged(threads);
  accounts_.stage_rests(false);
  write_staged(threads);
  process_.freeze();
  if (write_totals()) totals_at_ = now;
  send_now(now);
}

void Recording::write_end(wire::EndReason reason, std::string_view text, const ModuleMap& modules,
                          ThreadList& threads) noexcept {
  accounts_.stage_ends();
  close_tick(modules, threads);
  complete_ = true;
  if (process_.ended_cpu_ns() > 0 && request_.mode != wire::RecordMode::kOffCpu) {
    accounts_.write_ended_threads(process_.ended_cpu_ns());
  }
  if (tasks_.is_open() && tasks_.problem() != nullptr) {
    stream_.write_message(wire::MessageLevel::kWarning, tasks_.problem());
  }
  write_totals();
  stream_.put_record(wire::EndRecord{.reason = reason,
                                     .duration_ns = static_cast<std::uint64_t>(accounts_.tick_ns()),
                                     .text = text});
  stream_.flush();
}

}  // namespace swipr::agent
