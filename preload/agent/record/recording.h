// One recording: the schedule of its ticks, the accounts of its threads, and its stream. Combines
// these parts; each of them is the only owner of its state.
// Context: control thread.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "common/wire/format.h"
#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/base/moment.h"
#include "preload/agent/modules/module_map.h"
#include "preload/agent/record/accounts/process_account.h"
#include "preload/agent/record/accounts/recording_counters.h"
#include "preload/agent/record/accounts/task_waits.h"
#include "preload/agent/record/accounts/thread_accounts.h"
#include "preload/agent/record/overhead_budget.h"
#include "preload/agent/record/recording_request.h"
#include "preload/agent/record/schedule.h"
#include "preload/agent/record/stream/code_stream.h"
#include "preload/agent/record/stream/module_stream.h"
#include "preload/agent/record/stream/probe_stream.h"
#include "preload/agent/record/stream/stream_writer.h"
#include "preload/agent/threads/thread_list.h"
#include "preload/labels/label.h"

namespace swipr::agent {

// Names of a process, read once at start; strings are copied, and cut if they are too long.
struct ProcessIdentity {
  char command_name[16] = {};
  char executable[4096] = {};
};

class Recording {
 public:
  // False: *error states the reason.
  [[nodiscard]] bool create(const RecordingRequest& request, OutputQueue& output, Moment now,
                            const char** error) noexcept;
  void release() noexcept;
  // File header and source record. False: `output` has no room.
  [[nodiscard]] bool write_beginning(const ProcessIdentity& identity) noexcept;
  // CPU time used from now on counts. Call after adding the existing threads.
  void start_accounts(Moment now, std::chrono::nanoseconds agent_cpu_before) noexcept;

  // --- schedule
  Moment next_deadline() const noexcept;
  bool tick_is_due(Moment now) const noexcept { return !complete_ && schedule_.next() <= now; }
  bool collect_is_due(Moment now) const noexcept { return tick_open_ && now >= collect_at_; }
  // For answers to the last tick, which no later tick collects. False: the wait is over.
  bool put_off_last_collect(Moment now) noexcept;
  bool is_over(Moment now) const noexcept;
  // False: the budget skips this place at the current tick.
  bool looks_at(std::uint32_t place) const noexcept {
    return place >= next_looks_.size() ||
           static_cast<std::int32_t>(next_looks_[place] - tick_number()) <= 0;
  }
  bool stretches() const noexcept { return budget_.period(Activity::kIdle) > 1; }
  // Schedules the next check of the place by the activity of its thread until this one.
  void plan_look(std::uint32_t place, Activity activity) noexcept;
  // The place of `count` at which this tick begins: a third further than the last one.
  std::uint32_t next_first_place(std::uint32_t count) noexcept {
    first_place_ = (first_place_ + count / 3 + 1) % count;
    return first_place_;
  }
  bool is_complete() const noexcept { return complete_; }
  void set_complete() noexcept { complete_ = true; }
  // Why it ended before its limit: static text; nullptr: it did not.
  const char* failure() const noexcept { return failure_; }
  void set_failure(const char* text) noexcept { failure_ = text; }

  // --- a tick
  // Begins a tick at `now` that stands for the last of the deadlines that are due.
  void begin_tick(Moment now) noexcept;
  // Writes the staged entries; later entries belong to the same tick until the next begins.
  void close_tick(const ModuleMap& modules, ThreadList& threads) noexcept;
  // Writes the entries staged so far. Call before places of ended threads are reused.
  void write_staged(ThreadList& threads) noexcept {
    accounts_.write_staged(threads, !modules_.is_behind());
  }
  // The thread ended: writes its open run.
  void drop_thread(std::uint32_t place, const Thread& thread) noexcept;
  // Sends written data if there is enough of it or after 50 ms.
  void send(Moment now) noexcept;
  // Sends all written data.
  void send_now(Moment now) noexcept {
    if (stream_.flush()) sent_at_ = now;
  }

  // --- what it says
  // The id of a stack, for entries of the same generation; 0: it cannot be kept.
  // `calls`: that it is in, of all functions that are traced; `labels`: of the thread, nullptr:
  // none.
  std::uint32_t intern(const unwind::FrameBuffer& frames, WaitKey wait,
                       const unwind::OpenCalls& calls, const labels::LabelSet* labels, bool& is_new,
                       const ModuleMap& modules, ThreadList& threads) noexcept;
  // Writes the current modules; sync_modules continues from there and also writes code that was
  // announced to debuggers.
  void begin_modules(const ModuleMap& modules) noexcept { modules_.begin(modules, stream_); }
  // --- functions that are traced
  bool samples() const noexcept { return request_.sampling; }
  void add_probe(const ProbeAnswer& answer) noexcept { probes_.add(answer, stream_, start_); }
  const ProbeStream& probes() const noexcept { return probes_; }
  void check_probes(Moment now) noexcept { probes_.check(stream_, start_, now); }
  void write_latencies(Moment now) noexcept {
    if (probes_.is_due(now)) probes_.write(stream_, start_, now);
  }
  void drop_gone_probes(const ModuleMap& modules, ProcMemory& memory) noexcept {
    probes_.drop_gone(modules, memory, stream_, start_);
  }
  void stop_slow_calls() noexcept { probes_.stop_slow_calls(); }
  template <typename Walk>
  void write_slow_calls(Walk&& walk) noexcept {
    probes_.write_slow_calls(walk, stream_, start_);
  }
  void write_call_end(const ProbeStream::CallEnd& call) noexcept {
    if (!probes_.write_call_end(call, stream_)) ++counters_.call_ends_lost;
  }
  void finish_probes() noexcept { probes_.finish(stream_, start_); }
  // Writes new modules; a removed one starts a new generation of stacks.
  void sync_modules(const ModuleMap& modules, ThreadList& threads) noexcept;
  // Writes and sends everything up to now, including totals; the recording continues.
  void write_so_far(const ModuleMap& modules, ThreadList& threads, Moment now) noexcept;
  // The last reading of a thread, after the last tick: the time that it ran since that tick is not
  // attributed.
  void close_account(RecordedThread& thread, std::int64_t cpu_ns) noexcept;
  // When all threads' accounts are closed.
  void close_accounts(std::uint32_t live_threads) noexcept {
    process_.close(accounts_.attributed_cpu_ns(), live_threads);
  }
  // Ends all open runs, writes totals and the end record, sends.
  void write_end(wire::EndReason reason, std::string_view text, const ModuleMap& modules,
                 ThreadList& threads) noexcept;
  // Each is written once.
  void note_stretched() noexcept;
  void note_blocked_signal() noexcept;
  void note_muted_thread() noexcept;
  void note_clock_bound_bursts() noexcept;
  void note_many_tasks(std::uint32_t left_out) noexcept;

  std::chrono::nanoseconds interval() const noexcept { return request_.interval; }
  wire::RecordMode mode() const noexcept { return request_.mode; }
  std::uint32_t stack_generation() const noexcept { return stream_.stacks().generation(); }
  ThreadAccounts& accounts() noexcept { return accounts_; }
  const ThreadAccounts& accounts() const noexcept { return accounts_; }
  TaskWaits& tasks() noexcept { return tasks_; }
  StreamWriter& stream() noexcept { return stream_; }
  RecordingCounters& counters() noexcept { return counters_; }
  const RecordingCounters& counters() const noexcept { return counters_; }

 private:
  std::uint32_t try_intern(const unwind::FrameBuffer& frames, WaitKey wait,
                           std::span<const std::uint64_t> calls, bool& is_new) noexcept;
  void start_stack_generation(ThreadList& threads) noexcept;
  void put_label_losses(wire::TotalsEncoder& totals) const noexcept;
  void write_user() noexcept;  // if it has changed
  bool write_totals() noexcept;
  void put_counters(wire::TotalsEncoder& totals) const noexcept;
  std::uint32_t tick_number() const noexcept { return static_cast<std::uint32_t>(counters_.ticks); }

  RecordingRequest request_;
  Moment start_{0};
  std::uint64_t start_realtime_ns_ = 0;
  Schedule schedule_;
  OverheadBudget budget_;
  bool tick_open_ = false;
  bool complete_ = false;
  const char* failure_ = nullptr;
  Moment collect_at_{0};
  Moment sent_at_{0};
  Moment totals_at_{0};
  uid_t written_user_ = static_cast<uid_t>(-1);  // none
  MappedArray<std::uint32_t> next_looks_;  // by place: tick number; apart, because most are skipped
  std::uint32_t first_place_ = 0;

  OutputQueue* output_ = nullptr;
  RecordingCounters counters_;
  StreamWriter stream_;
  ThreadAccounts accounts_{stream_, counters_};
  TaskWaits tasks_;
  ModuleStream modules_;
  CodeStream code_;
  ProbeStream probes_;
  ProcessAccount process_;
  bool stretch_told_ = false;
  bool blocked_signal_told_ = false;
  bool muted_thread_told_ = false;
  bool clock_bound_told_ = false;
  bool many_tasks_told_ = false;
  std::uint64_t labels_lost_before_ = 0;
  std::uint64_t labels_cut_before_ = 0;
};

}  // namespace swipr::agent
