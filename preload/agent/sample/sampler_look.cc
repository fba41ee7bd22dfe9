// Determines where a thread is, from outside, without disturbing it.
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/agent/proc/thread_clock.h"
#include "preload/agent/sample/sampler.h"
#include "preload/agent/threads/own_waiters.h"
#include "preload/handler/signal_handler.h"
#include "preload/unwind/walk/stack_calls.h"

namespace swipr::agent {

namespace {

using wire::RecordMode;

constexpr int kLookAttempts = 5;
constexpr int kLookAttemptsOfTimed = 2;  // its wait can be sampled at another tick

unwind::Registers registers_at(const WaitPlace& place, const KeptRegisters& kept) noexcept {
  unwind::Registers registers;
  registers.values[unwind::kStackRegister] = place.sp;
  registers.values[unwind::kPcRegister] = place.pc;
  registers.known = unwind::bit_of(unwind::kStackRegister) | unwind::bit_of(unwind::kPcRegister);
  if (kept.place != place) return registers;
  for (std::size_t at = 0; at < std::size(KeptRegisters::kNumbers); ++at) {
    registers.values[KeptRegisters::kNumbers[at]] = kept.values[at];
    registers.known |= unwind::bit_of(KeptRegisters::kNumbers[at]);
  }
  return registers;
}

}  // namespace

// Determines where the thread is, without disturbing it.
Sampler::Look Sampler::look(Recording& recording, std::uint32_t place, RecordedThread& known,
                            Moment now) noexcept {
  const bool can_walk = process_.memory.is_open() && process_.modules.code_map() != nullptr;
  Thread& thread = process_.threads[place];
  if (own_waiters::contains(thread.tid)) return Look::kRunning;
  thread.looks.signalled_place = WaitPlace{};
  thread.looks.hidden.asked = HiddenWait::Asked::kNo;
  thread.looks.was_on_cpu = false;
  known.looks.holder = {};
  looked_at_ = monotonic_now();
  const bool in_doubt = may_leave_unseen_wait(recording, thread, known);
  if (in_doubt) thread.looks.asleep_cpu_ns = known.account.cpu_ns();
  if (!thread.looks.may_be_waking(known.account.cpu_ns()) && is_on_cpu(thread, known))
    return Look::kRunning;
  WaitPlace last;
  Sight seen{.mode = recording.mode(), .can_walk = can_walk};
  const int attempts = known.burst.is_timed() ? kLookAttemptsOfTimed : kLookAttempts;
  LookStep step = LookStep::kAwaitLeaving;
  for (int attempt = 0; attempt < attempts && !ends_look(step); ++attempt) {
    last = read_wait_place(thread.tid);
    seen.wait = last.kind;
    seen.is_hidden = is_hidden(last, thread.tid);
    if (last.kind == WaitKind::kBlocked) {
      thread.looks.last_wait_call = last.system_call;
      thread.looks.timeout_begins_again = last.timeout_begins_again;
    } else if (seen.is_hidden) {
      thread.looks.timeout_begins_again = true;
    }
    seen.is_waking = thread.looks.may_be_waking(known.account.cpu_ns());
    step = next_step(seen);
    const Look found = take_step(step, recording, place, known, last, now);
    if (found != Look::kMoved) return found;
  }
  // It blocks and wakes faster than it can be checked.
  if (known.burst.is_timed() && can_walk && last.kind == WaitKind::kBlocked) return Look::kFleeting;
  if (last.kind != WaitKind::kBlocked && !seen.is_hidden) {
    settle_waking(recording, place, known, in_doubt);
    return Look::kSettled;
  }
  return look_at_unwalked(recording, place, known, last);
}

// kMoved: the data may be inconsistent, or the thread is leaving its call.
Sampler::Look Sampler::take_step(LookStep step, Recording& recording, std::uint32_t place,
                                 RecordedThread& known, const WaitPlace& wait,
                                 Moment now) noexcept {
  Thread& thread = process_.threads[place];
  switch (step) {
    case LookStep::kPassOver:
      return pass_over(recording, place, known);
    case LookStep::kWalk:
      return walk_blocked(recording, place, known, wait, now);
    case LookStep::kAskHidden:
      return look_at_hidden(recording, place, known);
    case LookStep::kRunning:
      return Look::kRunning;
    case LookStep::kStop:
      thread.looks.asleep_cpu_ns = known.account.cpu_ns();
      break;
    case LookStep::kStopAwake:
      break;
    case LookStep::kAwaitLeaving:
      if (has_left_its_call(recording, thread, known) || known.burst.is_timed())
        return Look::kRunning;
      break;
  }
  return Look::kMoved;
}

// Asleep, and its stack cannot be walked from outside: it may be signalled while blocked.
Sampler::Look Sampler::look_at_unwalked(Recording& recording, std::uint32_t place,
                                        RecordedThread& known, const WaitPlace& wait) noexcept {
  if (may_interrupt(recording, wait)) {
    ++recording.counters().signals_to_blocked;
    return Look::kRunning;
  }
  frames_.frame_count = 0;
  calls_.clear();
  settle(recording, place, known, wait);
  return Look::kSettled;
}

// It may be leaving a wait that no check has met: it was never found asleep and has not run since
// it was first met, or it has slept since its last check for longer than a wait may be extended. It
// is treated as if it had been found asleep at its present clock.
bool Sampler::may_leave_unseen_wait(Recording& recording, const Thread& thread,
                                    RecordedThread& known) noexcept {
  if (recording.mode() == RecordMode::kOffCpu) return false;  // no signals
  const Moment limit = known.looks.wait_is_young_until;
  if (limit == Moment{}) return thread.looks.asleep_cpu_ns < 0;
  const Moment beyond = looked_at_ - limit;
  if (beyond <= Moment{} || !process_.knows_runqueue) return false;
  const bool knows_queued = known.looks.knows_queued_since;
  const Moment queued_before{known.account.runqueue_ns()};
  read_runqueue(recording, thread, known);
  return !knows_queued || beyond > Moment{known.account.runqueue_ns()} - queued_before;
}

// The kernel updates the clock of a running thread at every reading.
bool Sampler::is_on_cpu(Thread& thread, const RecordedThread& known) noexcept {
  const auto clock = read_thread_clock(thread.tid);
  thread.looks.was_on_cpu = clock && clock->count() != known.account.cpu_ns();
  return thread.looks.was_on_cpu;
}

// If the clock of a sleeping thread has advanced during the check, the data may be inconsistent.
// None: it slept throughout.
std::optional<Sampler::Look> Sampler::look_behind_sleep(Recording& recording, Thread& thread,
                                                        RecordedThread& known) noexcept {
  const auto clock = read_thread_clock(thread.tid);
  if (!clock) return Look::kRunning;
  thread.looks.asleep_cpu_ns = clock->count();
  if (clock->count() == known.account.cpu_ns()) return std::nullopt;
  recording.accounts().note_cpu(known, clock->count());
  return Look::kMoved;
}

// Takes the stack of a blocked thread from outside. Its clock before and after shows whether the
// thread ran meanwhile; then the data may be inconsistent.
Sampler::Look Sampler::walk_blocked(Recording& recording, std::uint32_t place,
                                    RecordedThread& known, const WaitPlace& wait,
                                    Moment now) noexcept {
  Thread& thread = process_.threads[place];
  const unwind::WalkEnd end = walk_from_outside(wait, thread);
  find_calls(thread);
  if (process_.unwinder.is_on()) {
    StackPieces stack(process_.memory);
    process_.unwinder.walk(stack.reader(), process_.modules, process_.memory);
  }
  RuntimeWaitFound runtime_wait = process_.languages.read_blocked(
      process_.modules.runtimes(), process_.memory, place, thread, wait, frames_);
  if (runtime_wait.key.kind == RuntimeWait::kNone) runtime_wait = find_lock_holder(thread, wait);
  read_labels_of_sleeper(thread);
  if (const auto woken = look_behind_sleep(recording, thread, known)) return *woken;
  if (is_of_own_wait(thread, frames_)) return Look::kRunning;  // since the look began
  // Not to the root: perhaps through a library that has just been loaded.
  if (end != unwind::WalkEnd::kRoot && end != unwind::WalkEnd::kCut &&
      process_.modules.refresh_for_unknown_code(process_.memory, now)) {
    process_.forget_code();
    return Look::kMoved;
  }
  if (end == unwind::WalkEnd::kUnknownRegister && may_interrupt(recording, wait)) {
    thread.looks.signalled_place = wait;
    ++recording.counters().signals_to_blocked;
    return Look::kNeedsSignal;
  }
  process_.unwinder.take(frames_, end);
  process_.languages.splice_blocked(process_.modules.runtimes(), process_.memory, frames_);
  known.looks.holder = runtime_wait.note;
  settle(recording, place, known, wait, runtime_wait);
  return Look::kSettled;
}

// That the stack in frames_ is in. The walk's pieces of the stack may be of another moment than
// these, which does not matter if the thread has slept meanwhile.
void Sampler::find_calls(const Thread& thread) noexcept {
  calls_.clear();
  if (!unwind::calls_are_followed.load(std::memory_order_relaxed)) [[likely]]
    return;
  StackPieces stack(process_.memory);
  unwind::find_stack_calls(thread.tid.value, frames_, stack, calls_);
}

// Waits are not recorded. Its clock is that of its sleep only if it is read after the check.
Sampler::Look Sampler::pass_over(Recording& recording, std::uint32_t place,
                                 RecordedThread& known) noexcept {
  Thread& thread = process_.threads[place];
  if (const auto clock = read_thread_clock(thread.tid)) {
    recording.accounts().note_cpu(known, clock->count());
    thread.looks.asleep_cpu_ns = clock->count();
  }
  note_burst(recording, known);
  recording.accounts().leave_out_run(known);
  return Look::kSettled;
}

// A thread that was asleep at its last check and has hardly run since may still be leaving that
// call, where a signal can turn its result into EINTR: poll checks for signals before it checks
// whether its timeout has expired. Waits, bounded, until the thread has run for longer than any
// return from a call takes. False: it does not, because it waits for a CPU or has blocked again.
bool Sampler::has_left_its_call(Recording& recording, const Thread& thread,
                                RecordedThread& known) noexcept {
  constexpr int kClockReads = 64;  // 30 µs
  constexpr int kStillReads = 4;
  if (known.burst.is_timed() && known.looks.bursts.is_left_to_timer())
    return true;  // it gets no signal
  int still = 0;
  for (int read = 0; read < kClockReads && thread.looks.may_be_waking(known.account.cpu_ns());
       ++read) {
    const auto clock = read_thread_clock(thread.tid);
    if (!clock) return true;
    still = clock->count() == known.account.cpu_ns() ? still + 1 : 0;
    if (still == kStillReads) return false;
    recording.accounts().note_cpu(known, clock->count());
  }
  return !thread.looks.may_be_waking(known.account.cpu_ns());
}

// It has been woken and has not left its call: its last stack is still valid. If it is not known to
// have slept, the next check finds out.
void Sampler::settle_waking(Recording& recording, std::uint32_t place, RecordedThread& known,
                            bool in_doubt) noexcept {
  const bool holds = known.run.was_settled_at(process_.threads[place].looks.asleep_cpu_ns) &&
                     known.run.is_of(recording.stack_generation());
  if (recording.mode() == RecordMode::kCpu) return recording.accounts().leave_out_run(known);
  if (in_doubt) return known.run.defer();
  if (!holds) known.run.forget_stack();
  note_burst(recording, known);
  read_runqueue(recording, process_.threads[place], known);
  recording.plan_look(place, Activity::kBusy);  // it is about to run
  known.run.settle_waking();
  recording.accounts().end_run(known, known.run.stack(), known.run.thread_state());
}

WaitPlace Sampler::read_wait_place(Tid tid) noexcept {
  if (!process_.signal_free) return {};
  char text[256];
  const WaitPlace place = parse_wait_place(
      process_.files.read(process_.threads.directory(), tid, TaskFiles::Kind::kSyscall, text));
  if (place.kind != WaitKind::kUnknown || tid.value != ::getpid()) return place;
  const ssize_t size = ::pread(process_.main_thread_wait, text, sizeof(text), 0);
  return size <= 0 ? place : parse_wait_place({text, static_cast<std::size_t>(size)});
}

bool Sampler::is_asleep(const Thread& thread) noexcept {
  const WaitPlace wait = read_wait_place(thread.tid);
  return wait.kind == WaitKind::kBlocked || is_hidden(wait, thread.tid);
}

// Asleep according to `stat`, which everybody may read, even if `syscall` is not readable (after
// setuid, PR_SET_DUMPABLE 0).
bool Sampler::is_hidden(const WaitPlace& wait, Tid tid) const noexcept {
  if (wait.kind != WaitKind::kUnknown) return false;
  char text[128];
  const std::string_view stat = read_task_file(process_.threads.directory(), tid, "stat", text);
  return is_asleep_by_stat(stat);
}

// Only if the program cannot notice. Otherwise an incomplete stack is recorded.
bool Sampler::may_interrupt(const Recording& recording, const WaitPlace& wait) const noexcept {
  return recording.mode() == RecordMode::kWall && process_.can_signal && wait.restarts &&
         handler::restarts_calls();
}

unwind::WalkEnd Sampler::walk_from_outside(const WaitPlace& wait, Thread& thread) noexcept {
  using unwind::WalkEnd;
  process_.languages.begin_stack(&thread);
  unwind::Registers registers = registers_at(wait, thread.looks.kept);
  StackPieces stack(process_.memory);
  const WalkEnd end = walk_with_frame_pointer(registers, true, stack.reader(), frames_);
  process_.unwinder.note_start(registers);
  if (end == WalkEnd::kUnknownRegister && frames_.frame_count == 1)
    return find_callers_of_first(wait, stack, end);
  return unwind::has_lost_caller(frames_) ? find_lost_caller_outside(registers, stack, end) : end;
}

// The kernel's function is read once for each location where the thread waits, for futexes once for
// all, and used only if the thread slept throughout.
WaitKey Sampler::wait_key(Thread& thread, const RecordedThread& known,
                          const WaitPlace& wait) noexcept {
  WaitKey key{.syscall = wire_syscall(wait.system_call)};
  if (wait.kind != WaitKind::kBlocked) return key;
  if (wait.is_futex_wait && process_.futex_channel != 0) {
    key.channel = process_.futex_channel;
    return key;
  }
  if (thread.looks.channel_place == wait && thread.looks.channel_argument == wait.first_argument) {
    key.channel = thread.looks.wait_channel;
    return key;
  }
  char text[64];
  const std::uint32_t channel = process_.wait_channels.number_of(
      read_task_file(process_.threads.directory(), thread.tid, "wchan", text));
  const auto clock = read_thread_clock(thread.tid);
  if (!clock || clock->count() != known.account.cpu_ns()) return key;
  thread.looks.channel_place = wait;
  thread.looks.channel_argument = wait.first_argument;
  thread.looks.wait_channel = channel;
  key.channel = channel;
  const bool in_futex =
      process_.wait_channels.name(channel).starts_with("futex_");  // no page fault
  if (wait.is_futex_wait && in_futex) process_.futex_channel = channel;
  return key;
}

void Sampler::settle(Recording& recording, std::uint32_t place, RecordedThread& known,
                     const WaitPlace& wait, const RuntimeWaitFound& runtime_wait) noexcept {
  note_burst(recording, known);
  read_runqueue(recording, process_.threads[place], known);
  WaitKey key = wait_key(process_.threads[place], known, wait);
  key.runtime = runtime_wait.key;
  key.lock = runtime_wait.lock;
  const std::uint32_t stack = intern(recording, frames_, key, calls_, &labels_);
  known.run.settle(stack, recording.stack_generation(), known.account.cpu_ns());
  recording.accounts().end_run(known, stack, known.run.thread_state());
}

}  // namespace swipr::agent
