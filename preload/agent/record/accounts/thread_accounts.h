// The times of all threads of one recording: converts observations at ticks into entries of the
// stream whose times add up, even if entries are dropped. Context: control thread.
#pragma once

#include <cstdint>

#include "common/wire/format.h"
#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/record/accounts/recorded_thread.h"
#include "preload/agent/record/accounts/recording_counters.h"
#include "preload/agent/record/stream/stream_writer.h"
#include "preload/agent/threads/thread_list.h"

namespace swipr::agent {

class ThreadAccounts {
 public:
  // Both outlive the accounts.
  ThreadAccounts(StreamWriter& stream, RecordingCounters& counters) noexcept
      : stream_(stream), counters_(counters) {}
  void configure(wire::RecordMode mode, std::int64_t interval_ns) noexcept {
    mode_ = mode;
    interval_ns_ = interval_ns;
  }
  void release() noexcept;
  // The kernel keeps no run-queue times: none are recorded.
  void leave_runqueue_out() noexcept { splits_runqueue_ = false; }

  // --- threads
  // nullptr: no memory. Adds the thread if it is new: its start is then between the previous tick
  // and this one, or, if `existed`, the recording's start.
  RecordedThread* thread(std::uint32_t place, const Thread& thread, std::int64_t cpu_ns,
                         bool existed) noexcept;
  // The thread; nullptr: not added, or no longer the same.
  RecordedThread* find(std::uint32_t place, const Thread& thread) noexcept;
  // The thread has ended since its last check: it has no ticks from now on.
  void note_gone(RecordedThread& thread) noexcept { thread.account.counted_ticks_ = ticks(); }
  // The thread ended: stages its open run.
  void drop(std::uint32_t place, const Thread& thread) noexcept;
  // Writes the records of all threads added so far.
  void introduce_all(ThreadList& threads) noexcept;

  // --- ticks
  // A tick begins; counters.ticks is its number.
  void begin_tick(std::int64_t tick_ns) noexcept {
    previous_tick_ns_ = tick_ns_;
    tick_ns_ = tick_ns;
  }
  std::int64_t tick_ns() const noexcept { return tick_ns_; }
  // The current tick has not checked the thread.
  bool leaves_out(const RecordedThread& thread) const noexcept {
    return thread.account.counted_ticks_ != ticks();
  }

  // --- a thread's open run
  // Extends it to this tick, over all ticks since the thread's last check.
  void extend_run(RecordedThread& thread, std::int64_t cpu_ns) noexcept;
  // The thread's CPU clock, updated within the open run.
  void note_cpu(RecordedThread& thread, std::int64_t cpu_ns) noexcept {
    attributed_cpu_ns_ += cpu_ns - thread.account.cpu_ns_;
    thread.account.cpu_ns_ = cpu_ns;
  }
  // The thread's run-queue time as the kernel reports it.
  void note_runqueue(RecordedThread& thread, std::int64_t runqueue_ns) noexcept {
    thread.account.runqueue_ns_ = runqueue_ns;
  }
  // Waits for a CPU before the recording do not belong to the recording.
  void begin_runqueue(RecordedThread& thread) noexcept {
    thread.account.written_.runqueue_ns = thread.account.runqueue_ns_;
  }
  // The thread was runnable since its last check and has not run.
  void note_queued(RecordedThread& thread) noexcept {
    if (splits_runqueue_) thread.account.runqueue_ns_ += tick_ns_ - thread.account.tick_ns_;
  }
  // The thread's time up to this tick is not recorded. Only while it has no open run.
  void skip_to_now(RecordedThread& thread, std::int64_t cpu_ns) noexcept;
  // Whether the settled stack is still the thread's, provided that its clock has not advanced.
  bool holds(const RecordedThread& thread) const noexcept {
    return thread.run.holds(stack_generation());
  }
  // The stack of its last observed wait, while its id is valid; 0: none.
  std::uint32_t wait_stack(const RecordedThread& thread) const noexcept {
    return thread.run.stack_of(stack_generation());
  }
  // A run without an entry during the last second: live readers wait for it.
  bool is_long(const RecordedThread& thread) const noexcept;
  // The thread has waited for a CPU for at least 7/8 of its time off a CPU since its last entry,
  // which is an interval or more. False if the kernel keeps no run-queue times; it counts a wait
  // for a CPU when it is over.
  bool has_hardly_slept(const RecordedThread& thread) const noexcept;

  // Ends the open run, if any, with an entry. `stack` 0: none was taken. If only CPU or off-CPU
  // time is recorded, a run in an unknown state is omitted.
  void end_run(RecordedThread& thread, std::uint32_t stack, wire::ThreadState state) noexcept;
  // The same for a thread that was runnable all the time and has not run.
  void end_queued_run(RecordedThread& thread, std::uint32_t stack) noexcept;
  // The same, with the known state of the run.
  void end_open_run(RecordedThread& thread) noexcept;
  // The open run does not belong to the recording's mode: its ticks are not samples, and its times
  // go into the thread's next entry.
  void leave_out_run(RecordedThread& thread) noexcept { thread.account.ticks_ = 0; }

  // --- threads that run in bursts
  // Whether CPU time goes to stacks of its own (BurstStack), from now on.
  void set_timed(RecordedThread& thread, bool timed) noexcept;
  // The timer took this stack of the current generation.
  void note_timer_stack(RecordedThread& thread, std::uint32_t stack) noexcept;
  // A tick took this stack, of the current generation, while the thread was running. It gets the
  // tick and about one interval of CPU time.
  void note_met_stack(RecordedThread& thread, std::uint32_t stack) noexcept;
  // Gives the stack that the timer took, if any, the CPU time since the previous one. After
  // extend_run. True: there was one.
  bool credit_timer_stack(RecordedThread& thread) noexcept;
  // The last stack that the timer or a tick took while it ran, while its id is valid; 0: none.
  std::uint32_t run_stack(const RecordedThread& thread) const noexcept;

  // --- entries
  // Writes the staged entries. Call before places of ended threads are reused, and before stacks or
  // modules change their meaning. `can_resolve` false: drops them, because the stream lacks
  // modules.
  void write_staged(ThreadList& threads, bool can_resolve) noexcept;
  // The time of a tick that takes no samples.
  void write_empty_tick() noexcept;
  // Ends the runs whose stacks become invalid.
  void end_settled_runs() noexcept;
  // A walk that ended in unknown code can proceed further now.
  void reopen_broken_stacks() noexcept;
  // Time that threads have used and no sample covers: entries without ticks, and without a stack in
  // recordings of only CPU or off-CPU time. `last`: the recording ends.
  void stage_rests(bool last) noexcept;
  // The recording ends: ends all open runs and stages the remaining times.
  void stage_ends() noexcept;
  // An artificial thread for CPU time that is known only as a sum, without stacks and wall time.
  void write_ended_threads(std::int64_t cpu_ns) noexcept;
  // A task waits at this tick, and did for `wall_ns`: an entry of the artificial thread with that
  // number (TaskWaits::kUnknownThread: it gets one, with that name). It has no CPU time. False: no
  // room.
  bool write_task(std::uint32_t& thread, std::string_view name, std::uint32_t stack,
                  std::int64_t wall_ns) noexcept;
  // CPU time attributed to threads by their checks.
  std::int64_t attributed_cpu_ns() const noexcept { return attributed_cpu_ns_; }

 private:
  // The part of the time since the thread's last entry that an entry takes.
  enum class Part : std::uint8_t { kAll, kOffCpu, kCpu };
  // An entry of the current tick. Its times become differences only when it is written, so that the
  // times of a dropped entry go into the next.
  struct StagedEntry {
    std::uint32_t place = 0;
    std::uint32_t index = 0;
    std::uint32_t stack = 0;
    std::uint32_t ticks = 0;
    wire::ThreadState state = wire::ThreadState::kUnknown;
    Part part = Part::kAll;
    Accounted until;
  };
  struct Chunk {
    std::size_t begin;
    std::size_t end;
  };

  std::uint64_t ticks() const noexcept { return counters_.ticks; }
  std::uint32_t stack_generation() const noexcept { return stream_.stacks().generation(); }
  std::uint32_t place_of(const RecordedThread& thread) const noexcept {
    return static_cast<std::uint32_t>(&thread - threads_.data());
  }
  // Without memory for it `ticks` count as dropped.
  void stage(const RecordedThread& thread, std::uint32_t stack, wire::ThreadState state,
             std::uint32_t ticks, Part part, std::int64_t cpu_ns) noexcept;
  void stage_rest(RecordedThread& thread, bool last) noexcept;
  void end_timed(RecordedThread& thread, bool last) noexcept;
  void credit_cpu_until(RecordedThread& thread, std::int64_t cpu_ns, std::uint32_t ticks) noexcept;
  std::uint32_t cpu_ticks(const RecordedThread& thread) const noexcept;

  bool introduce(std::uint32_t place, ThreadList& threads) noexcept;
  Chunk chunk_from(std::size_t begin) const noexcept;
  void encode_chunk(wire::Encoder& out, Chunk chunk) noexcept;
  void commit_chunk(Chunk chunk) noexcept;
  void settle_definitions(Chunk chunk, bool written) noexcept;
  wire::SampleEntry sample_of(const StagedEntry& entry, const Accounted& from) const noexcept;
  static Accounted advanced(const Accounted& from, const StagedEntry& entry,
                            const wire::SampleEntry& sample) noexcept;

  StreamWriter& stream_;
  RecordingCounters& counters_;
  wire::RecordMode mode_ = wire::RecordMode::kWall;
  bool splits_runqueue_ = true;
  std::int64_t interval_ns_ = 0;
  std::int64_t tick_ns_ = 0;
  std::int64_t previous_tick_ns_ = 0;
  std::int64_t record_ns_ = 0;  // time of the last tick record
  std::int64_t attributed_cpu_ns_ = 0;
  std::uint32_t next_index_ = 0;
  MappedArray<RecordedThread> threads_;  // by place
  MappedArray<StagedEntry> staged_;
};

}  // namespace swipr::agent
