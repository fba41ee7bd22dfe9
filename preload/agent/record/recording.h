// One recording: what has been written for it so far and what is still open. It is told what was
// seen of a thread at a tick and turns that into entries whose times add up, whatever is dropped.
// Context: control thread.
#pragma once

#include <cstdint>

#include "common/wire/format.h"
#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/base/moment.h"
#include "preload/agent/libunwind/differences.h"
#include "preload/agent/modules/module_map.h"
#include "preload/agent/record/block_writer.h"
#include "preload/agent/record/burst_judge.h"
#include "preload/agent/record/overhead_budget.h"
#include "preload/agent/record/recording_request.h"
#include "preload/agent/record/schedule.h"
#include "preload/agent/record/stack_table.h"
#include "preload/agent/threads/thread_list.h"

namespace swipr::agent {

// How far the stream accounts for a thread's time, on its clocks.
struct Accounted {
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;
  std::int64_t runqueue_ns = 0;
  std::int64_t off_cpu_ns = 0;  // wall minus CPU: can stand still where both have moved
};

// A thread as one recording knows it. Times in ns since the recording's start, clocks in ns of CPU.
struct alignas(64) RecordedThread {
  enum class Run : std::uint8_t {
    kNone,      // the next tick looks at the thread
    kSettled,   // blocked with a known stack: as long as the clock stands still the stack holds
    kDeferred,  // the tick had no time left to look: as long as the clock stands still a later can
    kAwaiting,  // signalled; its answer tells the stack of the open run
  };
  // First what every look needs: one cache line.
  std::uint32_t generation = 0;  // of the thread list's entry; 0: not met yet
  Run run = Run::kNone;
  wire::ThreadState state = wire::ThreadState::kUnknown;
  std::uint8_t still_looks = 0;  // looks in a row that found the clock unmoved
  std::uint32_t stack_generation = 0;
  // The open run: ticks since then that no entry stands for yet.
  std::uint32_t run_ticks = 0;
  std::int64_t run_ns = 0;          // its last tick
  std::int64_t run_cpu_ns = 0;      // the clock at that tick
  std::uint64_t counted_ticks = 0;  // of the recording, up to that tick
  // What the stream has: everything up to these.
  Accounted written;
  std::int64_t run_runqueue_ns = 0;
  std::int64_t signalled_cpu_ns = 0;  // the clock when the signal was sent
  std::int64_t settled_cpu_ns = -1;   // the clock when `stack` was taken from outside
  std::uint32_t stack = 0;
  std::uint32_t index = 0;         // in the stream
  std::uint32_t name_version = 0;  // 0: not yet introduced in the stream
  std::uint32_t stream_stack = 0;  // of the last entry
  std::uint32_t stream_generation = 0;
  std::int64_t stream_ns = 0;  // time of the tick record that holds the last entry
  std::int64_t start_ns = 0;
  // While the thread has a CPU timer (cpu_timers.h) its CPU time goes to the stacks that the timer
  // takes, the rest of its time to those that are seen in its waits.
  bool is_timed = false;
  bool wait_is_young = false;     // it ran since its last look, which was moments ago
  std::uint32_t hidden_wait = 0;  // which HiddenWait `stack` is of
  std::uint32_t asked_wait = 0;   // in which it was signalled
  bool cpu_answered = false;      // the timer took `cpu_stack`, and nothing was credited to it yet
  std::uint32_t cpu_stack = 0;
  std::uint32_t cpu_stack_generation = 0;
  BurstJudge bursts;
  std::int64_t met_cpu_ns = 0;    // the clock when a tick took `cpu_stack`; 0: it did not, or the
                                  // stack has got its time
  std::int64_t ticks_cpu_ns = 0;  // the clock up to which ticks stand for CPU time
};

struct RecordingCounters {
  std::uint64_t ticks = 0;
  std::uint64_t ticks_missed = 0;
  std::uint64_t ticks_stretched = 0;  // some threads were not looked at, to stay in the budget
  std::uint64_t samples = 0;
  std::uint64_t samples_dropped = 0;
  std::uint64_t stacks_missing = 0;
  std::uint64_t stacks_walked = 0;
  std::uint64_t stacks_rooted = 0;
  std::uint64_t stacks_cut = 0;
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
  // With SWIPR_UNWINDER.
  bool unwinder_missing = false;
  std::uint64_t stacks_compared = 0;  // walked by swipr's tables and by libunwind
  std::uint64_t stacks_equal = 0;
  std::uint64_t differences_left_out = 0;
};

// What a process is called, read once at start; strings are copied, cut where they are too long.
struct ProcessIdentity {
  char command_name[16] = {};
  char executable[4096] = {};
};

class Recording {
 public:
  // False: *error says why.
  [[nodiscard]] bool create(const RecordingRequest& request, OutputQueue& output, Moment now,
                            const char** error) noexcept;
  void release() noexcept;
  // File header and source record. False: `output` has no room.
  [[nodiscard]] bool write_beginning(const ProcessIdentity& identity) noexcept;

  // What is used from now on counts. Call when the threads that exist have been met.
  void start_accounts(Moment now) noexcept;

  // --- schedule
  Moment next_deadline() const noexcept;
  bool tick_is_due(Moment now) const noexcept { return !complete_ && schedule_.next() <= now; }
  bool collect_is_due(Moment now) const noexcept { return tick_open_ && now >= collect_at_; }
  // For answers to the last tick, which no later one brings. False: waited for long enough.
  bool put_off_last_collect(Moment now) noexcept;
  bool is_over(Moment now) const noexcept;
  // False: the budget leaves this place out of the present tick.
  bool looks_at(std::uint32_t place) const noexcept {
    return place >= next_looks_.size() ||
           static_cast<std::int32_t>(next_looks_[place] - tick_number()) <= 0;
  }
  bool stretches() const noexcept { return budget_.period(Activity::kIdle) > 1; }
  // Plans the next look at the place from how active its thread was until this one.
  void plan_look(std::uint32_t place, Activity activity) noexcept;
  void note_stretched() noexcept;
  // A running thread blocks the sampling signal for good.
  void note_blocked_signal() noexcept;
  void note_muted_thread() noexcept;
  bool is_complete() const noexcept { return complete_; }
  void set_complete() noexcept;
  // Why it is complete without having reached its end: static text; nullptr: it has.
  const char* failure() const noexcept { return failure_; }
  void set_failure(const char* text) noexcept { failure_ = text; }

  // --- a tick
  // Begins a tick at `now` that stands for the last of the deadlines that are due.
  void begin_tick(Moment now) noexcept;
  // Writes what was gathered; entries that come later go into the same tick until the next begins.
  void close_tick(const ModuleMap& modules, ThreadList& threads) noexcept;
  // Writes what was gathered so far. Call before places of ended threads are used again.
  void write_staged(ThreadList& threads) noexcept;
  // Sends what is written when it is worth it or has waited for 50 ms.
  void send(Moment now) noexcept;

  // Sends what is written, whatever it is.
  void send_now(Moment now) noexcept {
    if (writer_.flush()) sent_at_ = now;
  }

  // nullptr: no memory. Meets the thread when it is new: then its start lies between the previous
  // tick and this one, or, `existed`, at the recording's start.
  RecordedThread* thread(std::uint32_t place, const Thread& thread, std::int64_t clock_ns,
                         bool existed) noexcept;
  // Writes the records of all threads met so far.
  void introduce_all(ThreadList& threads) noexcept;
  // The thread as met; nullptr: not, or no longer the same.
  RecordedThread* find_thread(std::uint32_t place, const Thread& thread) noexcept;

  // Extends the thread's open run to this tick, over all ticks since its last look.
  void extend_run(RecordedThread& thread, std::int64_t clock_ns) noexcept;
  // The thread's clock, moved on within the open run.
  void note_cpu(RecordedThread& thread, std::int64_t clock_ns) noexcept {
    attributed_cpu_ns_ += clock_ns - thread.run_cpu_ns;
    thread.run_cpu_ns = clock_ns;
  }
  // What the thread did up to this tick is not recorded. Only while it has no open run.
  void skip_to_now(RecordedThread& thread, std::int64_t clock_ns) noexcept;
  // Ends the open run, if any, with an entry. `stack` 0: none was taken. Where only CPU or off-CPU
  // time is recorded, a run in an unknown state is left out.
  void end_run(std::uint32_t place, RecordedThread& thread, std::uint32_t stack,
               wire::ThreadState state) noexcept;
  // The open run is not what the recording's mode wants: its ticks are no samples, and its times go
  // into the thread's next entry.
  void leave_out_run(RecordedThread& thread) noexcept { thread.run_ticks = 0; }
  // Whether a CPU timer takes the stacks of the thread's CPU time, from now on.
  void set_timed(std::uint32_t place, RecordedThread& thread, bool timed) noexcept;
  // The stack of its last wait that was seen, while its id holds; 0: none.
  std::uint32_t wait_stack(const RecordedThread& thread) const noexcept;
  // The last stack that the timer or a tick took while it ran, while its id holds; 0: none.
  std::uint32_t run_stack(const RecordedThread& thread) const noexcept;
  // Of the time off a CPU since the thread's last entry, an interval or more, it has waited for a
  // CPU for 7/8 at least. False where the kernel keeps no run-queue times; it counts a wait for a
  // CPU when that is over.
  bool has_hardly_slept(const RecordedThread& thread) const noexcept;
  // The timer took this stack of the present generation.
  void note_cpu_stack(RecordedThread& thread, std::uint32_t stack) noexcept;
  // A tick took this stack, of the present generation, while the thread was at work. The stack
  // before gets the CPU time up to the middle between the two.
  void note_met_stack(std::uint32_t place, RecordedThread& thread, std::uint32_t stack) noexcept;
  // Gives that stack, if no time was credited to it yet, its tick and the CPU time up to `cpu_ns`.
  void credit_met_stack(std::uint32_t place, RecordedThread& thread, std::int64_t cpu_ns) noexcept;
  // Gives the stack that the timer took, if any, the CPU time since the one before. Behind
  // extend_run. True: there was one.
  bool credit_cpu(std::uint32_t place, RecordedThread& thread) noexcept;
  // The thread could have run since its last look and has not.
  void note_queued(RecordedThread& thread) noexcept {
    if (splits_runqueue_) thread.run_runqueue_ns += tick_ns_ - thread.run_ns;
  }
  // Ends the open run of a thread that could have run all the time and has not.
  void end_queued_run(std::uint32_t place, RecordedThread& thread, std::uint32_t stack) noexcept;
  // Ends the open run, if any, as what it is known to be.
  void end_open_run(std::uint32_t place, RecordedThread& thread) noexcept;
  // A settled run that no entry has stood for during the last second: live readers wait for it.
  bool is_long(const RecordedThread& thread) const noexcept;
  // The thread has ended, since its last look: no tick from now on is its own.
  void note_gone(RecordedThread& thread) noexcept { thread.counted_ticks = counters_.ticks; }
  // The thread ended: writes its open run.
  void drop_thread(std::uint32_t place, const Thread& thread) noexcept;

  // The id of a stack, for end_run in the same generation; 0: it cannot be kept.
  std::uint32_t intern(const unwind::FrameBuffer& frames, WaitKey wait, bool& is_new,
                       const ModuleMap& modules, ThreadList& threads) noexcept;
  bool holds(const RecordedThread& thread) const noexcept {
    return thread.run == RecordedThread::Run::kSettled &&
           thread.stack_generation == stacks_.generation();
  }

  // Outlives the recording. Before the first stack.
  void set_wait_channels(const WaitChannels& channels) noexcept { wait_channels_ = &channels; }
  // What two unwinders disagree on, to be told with the totals. Outlives the recording.
  void set_differences(const libunwind::Differences& differences) noexcept {
    differences_ = &differences;
  }
  // The kernel keeps no run-queue times: nothing is said of them.
  void leave_runqueue_out() noexcept { splits_runqueue_ = false; }
  // Writes the modules of the present; sync_modules goes on from there. Code that was told to
  // debuggers is written by the latter only.
  void begin_modules(const ModuleMap& modules) noexcept;
  // Writes modules that appeared; one that vanished starts a new generation of stacks.
  void sync_modules(const ModuleMap& modules, ThreadList& threads) noexcept;
  // Writes and sends everything up to now, totals included; the recording goes on.
  void write_so_far(const ModuleMap& modules, ThreadList& threads, Moment now) noexcept;
  bool write_message(wire::MessageLevel level, std::string_view text) noexcept;
  bool leaves_out(const RecordedThread& thread) const noexcept {
    return thread.counted_ticks != counters_.ticks;
  }
  // The last look at a thread, after the last tick: what it ran since that tick is nobody's.
  void close_account(RecordedThread& thread, std::int64_t clock_ns) noexcept;
  // When all threads' accounts are closed: what the process used and no thread explains is what
  // threads used that ended between two looks.
  void close_accounts(std::uint32_t live_threads) noexcept;
  // Ends all open runs, writes totals and the end record, sends.
  void write_end(wire::EndReason reason, std::string_view text, const ModuleMap& modules,
                 ThreadList& threads) noexcept;

  std::uint32_t stack_generation() const noexcept { return stacks_.generation(); }
  std::chrono::nanoseconds interval() const noexcept { return request_.interval; }
  wire::RecordMode mode() const noexcept { return request_.mode; }
  // Where this tick begins among `count` places: a third further than the last one.
  std::uint32_t next_first_place(std::uint32_t count) noexcept {
    first_place_ = (first_place_ + count / 3 + 1) % count;
    return first_place_;
  }
  std::int64_t tick_ns() const noexcept { return tick_ns_; }
  RecordingCounters& counters() noexcept { return counters_; }
  const RecordingCounters& counters() const noexcept { return counters_; }

 private:
  // Which part of the time since the thread's last entry an entry takes.
  enum class Part : std::uint8_t { kAll, kOffCpu, kCpu };
  // An entry of the tick under way. Its times become differences only when it is written: an entry
  // that is dropped leaves them to the next.
  struct StagedEntry {
    std::uint32_t place = 0;
    std::uint32_t index = 0;
    std::uint32_t stack = 0;
    std::uint32_t ticks = 0;
    wire::ThreadState state = wire::ThreadState::kUnknown;
    Part part = Part::kAll;
    Accounted until;
  };

  bool stage(std::uint32_t place, const RecordedThread& thread, std::uint32_t stack,
             wire::ThreadState state, std::uint32_t ticks, Part part) noexcept;
  bool stage_until(std::uint32_t place, const RecordedThread& thread, std::uint32_t stack,
                   wire::ThreadState state, std::uint32_t ticks, Part part,
                   std::int64_t cpu_ns) noexcept;
  void credit_cpu_until(std::uint32_t place, RecordedThread& thread, std::int64_t cpu_ns,
                        std::uint32_t ticks) noexcept;
  std::uint32_t cpu_ticks(const RecordedThread& thread) const noexcept;
  static std::int64_t middle_since_met(const RecordedThread& thread) noexcept;
  static Accounted advanced(const Accounted& from, const StagedEntry& entry,
                            const wire::SampleEntry& sample) noexcept;
  void end_timed(std::uint32_t place, RecordedThread& thread, bool last) noexcept;
  void stage_rest(std::uint32_t place, RecordedThread& thread, bool last) noexcept;
  void stage_rests(bool last) noexcept;
  bool introduce(std::uint32_t place, ThreadList& threads) noexcept;
  std::size_t chunk_end(std::size_t begin) noexcept;
  bool write_chunk(std::size_t begin, std::size_t end) noexcept;
  void encode_chunk(wire::Encoder& out, std::size_t begin, std::size_t end) noexcept;
  wire::SampleEntry sample_of(const StagedEntry& entry, const Accounted& from) const noexcept;
  void settle_definitions(std::size_t begin, std::size_t end, bool written) noexcept;
  void commit_chunk(std::size_t begin, std::size_t end) noexcept;
  void encode_stack(wire::Encoder& out, const StoredStack& stack) noexcept;
  void start_stack_generation(ThreadList& threads) noexcept;
  void look_again_at_broken_stacks() noexcept;
  void end_settled_runs(ThreadList& threads) noexcept;
  bool write_new_modules(const ModuleMap& modules, bool gone) noexcept;
  bool write_gone_modules(const ModuleMap& modules) noexcept;
  bool write_module(const ModuleMap& modules, const Module& module) noexcept;
  bool write_gone(std::uint64_t& told) noexcept;
  void sync_code(const JitInterface& jit) noexcept;
  bool write_code(const JitInterface& jit, const JitEntry& entry,
                  std::size_t& functions_left) noexcept;
  bool write_totals() noexcept;
  void write_user() noexcept;  // if it has changed
  void write_differences() noexcept;
  void write_ended_threads() noexcept;
  std::uint32_t tick_number() const noexcept { return static_cast<std::uint32_t>(counters_.ticks); }
  void freeze_clocks() noexcept;

  RecordingRequest request_;
  Moment start_{0};
  std::uint64_t start_realtime_ns_ = 0;
  uid_t written_user_ = static_cast<uid_t>(-1);  // none
  std::int64_t start_process_cpu_ns_ = 0;
  std::int64_t start_agent_cpu_ns_ = 0;
  std::int64_t end_process_cpu_ns_ = 0;
  std::int64_t end_agent_cpu_ns_ = 0;
  std::int64_t attributed_cpu_ns_ = 0;  // to threads, as far as they were looked at
  std::int64_t beyond_cpu_ns_ = 0;      // what threads ran behind the last tick
  std::int64_t ended_cpu_ns_ = 0;       // of threads that ended between two looks

  Schedule schedule_;
  std::int64_t tick_ns_ = 0;
  std::int64_t previous_tick_ns_ = 0;
  std::int64_t record_ns_ = 0;  // time of the last tick record
  bool tick_open_ = false;
  bool complete_ = false;
  const char* failure_ = nullptr;
  Moment collect_at_{0};
  Moment sent_at_{0};
  Moment totals_at_{0};

  OutputQueue* output_ = nullptr;
  BlockWriter writer_;
  StackTable stacks_;
  const WaitChannels* wait_channels_ = nullptr;
  const libunwind::Differences* differences_ = nullptr;
  std::uint32_t told_differences_ = 0;     // whose stacks the stream has
  MappedArray<RecordedThread> threads_;    // by place
  MappedArray<std::uint32_t> next_looks_;  // by place: tick number; apart, because most are skipped
  OverheadBudget budget_;
  bool stretch_told_ = false;
  bool blocked_signal_told_ = false;
  bool muted_thread_told_ = false;
  bool splits_runqueue_ = true;
  MappedArray<StagedEntry> staged_;
  std::uint32_t next_thread_index_ = 0;
  std::uint32_t first_place_ = 0;
  // Of the slots of ModuleMap::modules: the id that the stream knows of each; 0: none.
  MappedArray<std::uint64_t> told_modules_;
  std::uint64_t module_change_count_ = 0;  // what was written is as it was then
  std::uint64_t module_gone_count_ = 0;    // at the start of the present generation of stacks
  std::uint64_t last_module_at_start_ = 0;
  // Of the places of JitInterface::entries: the id that the stream knows of each; 0: none.
  MappedArray<std::uint64_t> told_code_;
  std::uint64_t code_change_count_ = 0;  // what was written is as it was then
  struct {
    std::uint64_t id = 0;  // 0: none
    std::size_t functions = 0;
  } partly_told_;                // the entry of which the stream has some functions
  bool modules_behind_ = false;  // the stream lacks some: stacks would not resolve
  RecordingCounters counters_;
};

}  // namespace swipr::agent
