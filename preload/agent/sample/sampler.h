// Checks one thread at one tick at minimum cost: first its CPU clock, then, if it is blocked, its
// stack from outside; it is signalled only if it runs.
// Context: control thread.
#pragma once

#include <cstdint>
#include <optional>

#include "preload/agent/libunwind/second_unwinder.h"
#include "preload/agent/modules/module_map.h"
#include "preload/agent/proc/proc_memory.h"
#include "preload/agent/proc/task_files.h"
#include "preload/agent/record/recording.h"
#include "preload/agent/sample/callers/frame_recovery.h"
#include "preload/agent/sample/decision.h"
#include "preload/agent/sample/languages/language_frames.h"
#include "preload/agent/threads/cpu_timers.h"
#include "preload/agent/threads/signal_pool.h"
#include "preload/agent/threads/thread_list.h"
#include "preload/labels/thread_labels.h"
#include "preload/unwind/walk/stack_words.h"

namespace swipr::agent {

// Data that all recordings share.
struct SampledProcess {
  ThreadList threads;
  MemoryRoom room;
  ModuleMap modules;
  ProcMemory memory;
  SignalPool signals;
  CpuTimers timers;
  FrameRecovery frames;
  SecondUnwinder unwinder;
  WaitChannels wait_channels;
  std::uint32_t futex_channel = 0;  // of these, in which threads wait for futexes; 0: not met yet
  LanguageFrames languages;
  TaskFiles files;
  bool can_signal = false;
  bool knows_runqueue = false;  // the kernel keeps schedstat
  bool signal_free = true;      // `syscall` files show where blocked threads are
  // The handler does not recognise all calls, so that they may return early if it is sent while a
  // thread runs.
  bool loses_arguments = false;
  // The main thread's `syscall` file, open since the process's start; -1: not open. Kept open
  // because servers that drop privileges wait in this thread, and afterwards it cannot be opened.
  int main_thread_wait = -1;

  // Code has changed.
  void forget_code() noexcept;
};

class Sampler {
 public:
  static constexpr std::uint32_t kFreeLooks = 64;  // at each tick, even if it is late
  constexpr explicit Sampler(SampledProcess& process) noexcept : process_(process) {}

  // A thread that exists when the recording starts: its times count from now.
  void meet(Recording& recording, std::uint32_t place) noexcept;
  // Builds the tables that the thread's first check will need, before ticks have to be in time.
  void build_tables_for(std::uint32_t place) noexcept;
  // Completes the walk of an answer that ended where a table was not built or a caller was lost,
  // and verifies its claims about code. Call before the answer is used.
  void finish_walk(handler::Slot& slot) noexcept;
  // Walks from a frame that has called something, whose registers are known, through a copy of its
  // stack, which begins at its stack pointer.
  void walk_copy(const unwind::Registers& caller, std::span<const std::uint64_t> stack,
                 unwind::FrameBuffer& frames) noexcept;
  // Checks from outside cost about 10 µs each: if thousands of threads are new, those that do not
  // fit into `looking_time` of CPU, after the first few, are left to the next ticks.
  void begin_tick(std::chrono::nanoseconds looking_time, Moment now) noexcept;
  // `number` is the recording's bit in requests. False: the thread has ended.
  bool sample(Recording& recording, unsigned number, std::uint32_t place, Moment now) noexcept;
  // After the recording's last tick: checks threads for which no tick had the time or the budget.
  void close_account(Recording& recording, std::uint32_t place, Moment now) noexcept;
  // The thread answered: gives its stack to the recording if it waits for it.
  void take_answer(Recording& recording, std::uint32_t place, const handler::Slot& slot) noexcept;
  // The thread's CPU timer took its stack. False: the recording does not need the timer.
  bool take_timer_stack(Recording& recording, std::uint32_t place,
                        const handler::Slot& slot) noexcept;
  // Updates the thread from the answer. Call once before take_answer.
  void note_answer(std::uint32_t place, handler::Slot& slot) noexcept;
  // Writes where tasks of asyncio wait, if the recording has them and that is due. `is_last`: the
  // recording ends.
  void sample_tasks(Recording& recording, Moment now, bool is_last) noexcept;
  // Adds the frames of language runtimes. Call once, after these.
  void splice_answer(std::uint32_t place, handler::Slot& slot) noexcept;

  // A frame outside all known modules was found: the module map is out of date, or code is
  // generated at run time.
  bool met_unknown_code() const noexcept { return unknown_code_; }
  void forget_unknown_code() noexcept { unknown_code_ = false; }
  // A running thread was not signalled, because it blocks the signal.
  bool met_blocked_signal() const noexcept { return blocked_signal_; }
  void forget_blocked_signal() noexcept { blocked_signal_ = false; }

 private:
  void finish_own_walk(handler::Slot& slot) noexcept;
  Activity judge(const Recording& recording, Thread& thread, RecordedThread& known,
                 std::int64_t clock_ns) noexcept;
  bool sleeps(Thread& thread, std::int64_t clock_ns) noexcept;
  wire::ThreadState state_of(const handler::Slot& slot, const Thread& thread) noexcept;
  bool is_of_own_wait(const Thread& thread, const unwind::FrameBuffer& frames) noexcept;
  bool is_in_own_code(Recording& recording, const Thread& thread, RecordedThread& known,
                      std::int64_t clock_ns) noexcept;
  Observation observe(const Recording& recording, const Thread& thread, const RecordedThread& known,
                      std::int64_t clock_ns) noexcept;
  void act(const Observation& seen, Recording& recording, unsigned number, std::uint32_t place,
           RecordedThread& known, std::int64_t clock_ns, Moment now) noexcept;
  static void keep_stack(ThreadAccounts& accounts, RecordedThread& known,
                         std::int64_t clock_ns) noexcept;
  bool extend_to(Recording& recording, RecordedThread& known, std::int64_t clock_ns,
                 Moment now) noexcept;
  enum class Look : std::uint8_t { kSettled, kRunning, kFleeting, kNeedsSignal, kMoved };
  void follow(Look found, bool ran, Recording& recording, unsigned number, std::uint32_t place,
              RecordedThread& known, Moment now) noexcept;
  void lose_run(Recording& recording, const Thread& thread, RecordedThread& known) noexcept;
  Look take_step(LookStep step, Recording& recording, std::uint32_t place, RecordedThread& known,
                 const WaitPlace& wait, Moment now) noexcept;
  Look look_at_unwalked(Recording& recording, std::uint32_t place, RecordedThread& known,
                        const WaitPlace& wait) noexcept;
  Look look(Recording& recording, std::uint32_t place, RecordedThread& known, Moment now) noexcept;
  Look walk_blocked(Recording& recording, std::uint32_t place, RecordedThread& known,
                    const WaitPlace& wait, Moment now) noexcept;
  RuntimeWaitFound find_lock_holder(const Thread& thread, const WaitPlace& wait) noexcept;
  bool has_other_holder(const RecordedThread& known) noexcept;
  bool is_on_cpu(Thread& thread, const RecordedThread& known) noexcept;
  std::optional<Look> look_behind_sleep(Recording& recording, Thread& thread,
                                        RecordedThread& known) noexcept;
  Look pass_over(Recording& recording, std::uint32_t place, RecordedThread& known) noexcept;
  bool may_leave_unseen_wait(Recording& recording, const Thread& thread,
                             RecordedThread& known) noexcept;
  bool has_left_its_call(Recording& recording, const Thread& thread,
                         RecordedThread& known) noexcept;
  void settle_waking(Recording& recording, std::uint32_t place, RecordedThread& known,
                     bool in_doubt) noexcept;
  WaitPlace read_wait_place(Tid tid) noexcept;
  void find_calls(const Thread& thread) noexcept;
  bool is_asleep(const Thread& thread) noexcept;
  bool is_hidden(const WaitPlace& wait, Tid tid) const noexcept;
  Look look_at_hidden(Recording& recording, std::uint32_t place, RecordedThread& known) noexcept;
  Moment may_ask_until(const Recording& recording, const Thread& thread,
                       const RecordedThread& known) noexcept;
  void settle_hidden(Recording& recording, std::uint32_t place, RecordedThread& known) noexcept;
  std::int32_t call_of(const handler::Slot& slot) noexcept;
  void note_hidden_answer(Thread& thread, handler::Slot& slot) noexcept;
  bool may_interrupt(const Recording& recording, const WaitPlace& wait) const noexcept;
  unwind::WalkEnd walk_from_outside(const WaitPlace& wait, Thread& thread) noexcept;
  unwind::WalkEnd walk_and_build(const unwind::Registers& registers, bool exact,
                                 unwind::StackReader stack, unwind::FrameBuffer& frames) noexcept;
  unwind::WalkEnd walk_with_frame_pointer(unwind::Registers& registers, bool exact,
                                          unwind::StackReader stack,
                                          unwind::FrameBuffer& frames) noexcept;
  void walk_on(handler::Slot& slot, bool exact, unwind::StackReader stack) noexcept;
  unwind::WalkEnd find_lost_caller_outside(const unwind::Registers& registers, StackPieces& stack,
                                           unwind::WalkEnd end) noexcept;
  unwind::WalkEnd find_callers_of_first(const WaitPlace& wait, StackPieces& stack,
                                        unwind::WalkEnd end) noexcept;
  bool find_vfork_caller(const WaitPlace& wait, StackPieces& stack) noexcept;
  bool find_leaf_caller(const WaitPlace& wait, StackPieces& stack) noexcept;
  bool walk_caller(std::uint64_t pc, std::uint64_t sp, StackPieces& stack) noexcept;
  std::optional<CodeGap> gap_at_hole(const unwind::FrameBuffer& frames) const noexcept;
  bool find_lost_caller(unwind::FrameBuffer& frames, const unwind::Registers& registers,
                        const unwind::StackWords& words) noexcept;
  void insert_skipped_callers(unwind::FrameBuffer& frames, const unwind::Registers& registers,
                              const unwind::StackWords& words) noexcept;
  void settle(Recording& recording, std::uint32_t place, RecordedThread& known,
              const WaitPlace& wait, const RuntimeWaitFound& runtime_wait = {}) noexcept;
  void ask(Recording& recording, unsigned number, std::uint32_t place, RecordedThread& known,
           Moment now) noexcept;
  void note_burst(const Recording& recording, RecordedThread& known) noexcept;
  bool may_leave_no_stack(const Thread& thread, std::int64_t clock_ns) const noexcept;
  bool has_timer(const Recording& recording, std::uint32_t place, std::int64_t clock_ns) noexcept;
  bool is_met_in_burst(Thread& thread, const RecordedThread& known) noexcept;
  void split_bursts(Recording& recording, std::uint32_t place, RecordedThread& known,
                    std::int64_t clock_ns) noexcept;
  bool prefers_timers(const Recording& recording) const noexcept;
  bool keeps_busy(const Recording& recording, const RecordedThread& known,
                  bool told_by_timer) const noexcept;
  static void set_timed(Recording& recording, RecordedThread& known, bool timed) noexcept;
  void leave_to_timer(Recording& recording, RecordedThread& known) noexcept;
  static void note_busy_look(const Recording& recording, RecordedThread& known,
                             std::int64_t clock_ns) noexcept;
  void give_up(Recording& recording, std::uint32_t place, RecordedThread& known,
               Moment now) noexcept;
  void read_runqueue(Recording& recording, const Thread& thread, RecordedThread& known) noexcept;
  static std::uint32_t wire_syscall(std::int64_t number) noexcept;  // as records have it
  WaitKey wait_key(Thread& thread, const RecordedThread& known, const WaitPlace& wait) noexcept;
  std::uint32_t intern(Recording& recording, const unwind::FrameBuffer& frames, WaitKey wait,
                       const unwind::OpenCalls& calls = {},
                       const labels::LabelSet* labels = nullptr) noexcept;
  void find_context(Moment now) noexcept;
  void read_context_of_sleeper(Tid tid) noexcept;
  static void offer_label_slots() noexcept;
  void read_labels_of_sleeper(Thread& thread) noexcept;
  bool is_of_live_thread(const labels::LabelPlace& place, Tid tid) noexcept;
  void sample_task(Recording& recording, std::uint64_t task) noexcept;

  SampledProcess& process_;
  bool has_time_to_look() noexcept;

  bool unknown_code_ = false;
  bool blocked_signal_ = false;
  std::chrono::nanoseconds looking_time_{0};
  std::chrono::nanoseconds looking_until_{0};  // on the control thread's CPU clock
  std::uint32_t looks_ = 0;
  Moment looked_at_{0};  // when the check of the present thread began
  unwind::FrameBuffer frames_{};
  unwind::OpenCalls calls_{};                          // that frames_ are in
  labels::LabelSet labels_{};                          // of the thread that is checked from outside
  std::uint64_t context_modules_ = ~std::uint64_t{0};  // change_count when it was searched
  Moment context_due_{0};
  bool awaits_context_ = false;                // an image has it, but its place is not known
  std::optional<std::int64_t> tid_in_thread_;  // see is_of_live_thread
};

}  // namespace swipr::agent
