#include "preload/agent/sampler.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "preload/agent/exit_gate.h"
#include "preload/agent/start_gate.h"
#include "preload/agent/thread_clock.h"
#include "preload/handler/interrupted_code.h"
#include "preload/handler/signal_handler.h"

namespace swipr::agent {

namespace {

using Run = RecordedThread::Run;
using wire::RecordMode;
using wire::ThreadState;

// A thread that used this much CPU since it was signalled either blocks the signal or is busy in
// one system call; up to here the answer that comes in the end still tells where it has been.
constexpr std::int64_t kAnswerBudgetNs = 10'000'000;
constexpr std::uint8_t kLateBeforeMuted = 16;
constexpr std::chrono::seconds kMuted{1};
constexpr int kLookAttempts = 5;
// Registers that a function preserves (System V AMD64 ABI, 3.2.1), as DWARF numbers.
constexpr unsigned kPreserved[6] = {unwind::kRbx, unwind::kRbp, 12, 13, 14, 15};
// `syscall` is two bytes long; a call that restarts is found before it, a waiting one behind it.
constexpr std::uint64_t kSyscallBytes = 2;

std::uint32_t wire_syscall(const WaitPlace& place) noexcept {
  return static_cast<std::uint32_t>(place.system_call + 1);
}

unwind::Registers registers_at(const WaitPlace& place, const KeptRegisters& kept) noexcept {
  unwind::Registers registers;
  registers.values[unwind::kRsp] = place.sp;
  registers.values[unwind::kPc] = place.pc;
  registers.known = 1u << unwind::kRsp | 1u << unwind::kPc;
  if (kept.place != place) return registers;
  for (std::size_t at = 0; at < std::size(kPreserved); ++at) {
    registers.values[kPreserved[at]] = kept.values[at];
    registers.known |= 1u << kPreserved[at];
  }
  return registers;
}

// Its clock is near where it was seen asleep: nearer than the longest way out of a system call.
constexpr std::int64_t kWayOutNs = 20'000;
bool may_be_waking(const Thread& thread, std::int64_t clock_ns) noexcept {
  return thread.asleep_cpu_ns >= 0 && clock_ns - thread.asleep_cpu_ns < kWayOutNs;
}

// Since its last look it has run for a small part of the time at most.
bool has_hardly_run(const Recording& recording, const RecordedThread& known,
                    std::int64_t clock_ns) noexcept {
  constexpr std::int64_t kDivisor = 16;
  return (clock_ns - known.run_cpu_ns) * kDivisor <= recording.tick_ns() - known.run_ns;
}

// Where the signal found a thread.
enum class Found : std::uint8_t { kInItsCode, kBehindACall, kInAWait };
Found found_at(const handler::Slot& slot) noexcept {
  constexpr unsigned kRcx = 2;  // where `syscall` leaves the address behind it
  const std::uint64_t behind = slot.registers.values[kRcx];
  const std::uint64_t pc = slot.registers.values[unwind::kPc];
  // The kernel makes it again, or the handler. What has transferred a part was at work.
  const auto result = static_cast<std::int64_t>(slot.registers.values[unwind::kRax]);
  const bool again = pc + kSyscallBytes == behind || (pc == behind && result == -EINTR);
  if (again) return Found::kInAWait;
  return pc == behind ? Found::kBehindACall : Found::kInItsCode;
}

// Calls that do nothing but wait.
bool is_pure_wait(std::int32_t call) noexcept {
  constexpr std::int32_t kCalls[] = {
      SYS_futex,         SYS_epoll_wait, SYS_epoll_pwait,     SYS_epoll_pwait2,
      SYS_poll,          SYS_ppoll,      SYS_select,          SYS_pselect6,
      SYS_nanosleep,     SYS_accept,     SYS_clock_nanosleep, SYS_accept4,
      SYS_rt_sigsuspend, SYS_pause,      SYS_rt_sigtimedwait, SYS_semtimedop,
      SYS_wait4,         SYS_waitid,     SYS_io_getevents,    SYS_mq_timedreceive};
  return std::find(std::begin(kCalls), std::end(kCalls), call) != std::end(kCalls);
}

// Its times go into the next entry.
bool waits_at_exit(const Thread& thread) noexcept {
  return thread.tid.value == exit_gate::waiting_tid.load(std::memory_order_relaxed);
}

}  // namespace

void Sampler::meet(Recording& recording, std::uint32_t place) noexcept {
  const Thread& thread = subjects_.threads[place];
  const std::optional<std::chrono::nanoseconds> clock = read_thread_clock(thread.tid);
  if (!clock) return;
  RecordedThread* known = recording.thread(place, thread, clock->count(), true);
  if (known == nullptr) return;
  read_runqueue(thread, *known);
  known->written.runqueue_ns = known->run_runqueue_ns;
}

bool Sampler::sample(Recording& recording, unsigned number, std::uint32_t place,
                     Moment now) noexcept {
  Thread& thread = subjects_.threads[place];
  const std::optional<std::chrono::nanoseconds> clock = read_thread_clock(thread.tid);
  if (!clock) {
    if (RecordedThread* gone = recording.find_thread(place, thread)) recording.note_gone(*gone);
    return false;
  }
  const std::int64_t clock_ns = clock->count();
  RecordedThread* found = recording.thread(place, thread, clock_ns, false);
  if (found == nullptr) {
    ++recording.counters().samples_dropped;
    return true;
  }
  RecordedThread& known = *found;
  if (thread.tid.value == start_gate::waiting_tid.load(std::memory_order_relaxed)) {
    read_runqueue(thread, known);
    recording.skip_to_now(known, clock_ns);
    return true;
  }
  if (waits_at_exit(thread)) return true;
  if (thread.name_looks_left != 0) {
    --thread.name_looks_left;
    subjects_.threads.refresh_name(place);
  }
  recording.plan_look(place, judge(recording, known, clock_ns));
  const bool ran = clock_ns != known.run_cpu_ns;
  if (!ran && recording.mode() == RecordMode::kCpu) return true;
  if (!ran && recording.holds(known)) {
    recording.extend_run(known, clock_ns);
    if (recording.is_long(known)) recording.end_open_run(place, known);
    return true;
  }
  if (known.run == Run::kAwaiting) {
    if (clock_ns - known.signalled_cpu_ns <= kAnswerBudgetNs) {
      if (!ran) recording.note_queued(known);
      recording.extend_run(known, clock_ns);
      if (thread.slot == kNoSlot && !may_be_waking(thread, clock_ns))
        ask(recording, number, place, known, now);
      return true;
    }
    give_up(recording, place, known, now);
  } else if (known.run != Run::kDeferred || ran) {
    recording.end_open_run(place, known);
  }
  recording.extend_run(known, clock_ns);
  if (!has_time_to_look()) {
    known.run = Run::kDeferred;
    known.state = ThreadState::kUnknown;
    return true;
  }
  known.run = Run::kNone;
  if (look(recording, place, known, now) == Look::kSettled) return true;
  if (recording.mode() != RecordMode::kOffCpu) {
    // The kernel brings the clock of a thread that is on a CPU up to date.
    const auto clock_now = read_thread_clock(thread.tid);
    thread.was_on_cpu = clock_now && clock_now->count() != known.run_cpu_ns;
    ask(recording, number, place, known, now);
  } else if (ran) {
    recording.leave_out_run(known);
  } else {
    recording.end_queued_run(place, known, 0);
  }
  return true;
}

// What a thread that has run since its last entry was doing when it was asked. One that was found
// in a wait had got there before its signal; one that was not on a CPU, and had not left a call
// that only waits, had been woken and waited for a CPU. What they have used by then they have used
// elsewhere.
ThreadState Sampler::state_of(const handler::Slot& slot, const Thread& thread) noexcept {
  switch (found_at(slot)) {
    case Found::kInAWait:
      return thread.was_on_cpu ? ThreadState::kBlocked : ThreadState::kRunnable;
    case Found::kBehindACall:
      if (thread.was_on_cpu || !is_pure_wait(call_before(slot.registers))) break;
      return ThreadState::kRunnable;
    default:
      break;
  }
  return ThreadState::kRunning;
}

std::int32_t Sampler::call_before(const unwind::Registers& registers) noexcept {
  std::array<std::uint8_t, handler::kCodeBytes> code;
  const std::uint64_t start = registers.values[unwind::kPc] - code.size();
  if (!subjects_.memory.read(start, std::as_writable_bytes(std::span(code)))) return -1;
  return handler::decode_call_number(code);
}

// How much of the time since its last look the thread has run.
Activity Sampler::judge(const Recording& recording, RecordedThread& known,
                        std::int64_t clock_ns) noexcept {
  constexpr std::uint8_t kStillBeforeIdle = 4;
  const std::int64_t ran_ns = clock_ns - known.run_cpu_ns;
  known.still_looks =
      ran_ns != 0 ? 0 : std::min<std::uint8_t>(known.still_looks + 1, kStillBeforeIdle);
  // Its answer is waited for, or it waits for a CPU.
  if (known.run == Run::kAwaiting) return Activity::kBusy;
  if (known.still_looks == kStillBeforeIdle) return Activity::kIdle;
  return has_hardly_run(recording, known, clock_ns) ? Activity::kLight : Activity::kBusy;
}

void Sampler::close_account(Recording& recording, std::uint32_t place, Moment now) noexcept {
  const Thread& thread = subjects_.threads[place];
  RecordedThread* known = recording.find_thread(place, thread);
  if (known == nullptr) return;
  const std::optional<std::chrono::nanoseconds> clock = read_thread_clock(thread.tid);
  if (!clock) return;
  const std::int64_t clock_ns = clock->count();
  const bool left_out = recording.leaves_out(*known);
  // Everybody wakes when a process ends: what a thread does then is no sample of the time before.
  const bool woken_at_the_end = left_out && recording.holds(*known) &&
                                clock_ns != known->run_cpu_ns &&
                                has_hardly_run(recording, *known, clock_ns);
  if (woken_at_the_end) read_runqueue(thread, *known);
  const bool still = woken_at_the_end || clock_ns == known->run_cpu_ns;
  // A new generation of stacks may have begun since.
  const bool stale = known->run == Run::kSettled && !recording.holds(*known);
  if (left_out && (!still || stale)) {
    recording.end_open_run(place, *known);
    known->run = Run::kDeferred;
    read_runqueue(thread, *known);
  }
  recording.close_account(*known, clock_ns);
  if (known->run != Run::kDeferred || !(still || left_out)) return;
  known->run = Run::kNone;
  if (look(recording, place, *known, now) == Look::kSettled) return;
  // It runs, and nobody would wait for its stack any more.
  const bool all = recording.mode() == RecordMode::kWall;
  known->state = all ? ThreadState::kRunning : ThreadState::kUnknown;
}

void Sampler::begin_tick(std::chrono::nanoseconds looking_time) noexcept {
  looking_until_ = read_own_clock() + looking_time;
  looks_ = 0;
}

bool Sampler::has_time_to_look() noexcept {
  // The first few always: however late a tick is, every one of them gets on.
  constexpr std::uint32_t kFreeLooks = 64;
  return looks_++ < kFreeLooks || read_own_clock() < looking_until_;
}

// Finds out where the thread is, without disturbing it.
Sampler::Look Sampler::look(Recording& recording, std::uint32_t place, RecordedThread& known,
                            Moment now) noexcept {
  const bool can_walk = subjects_.memory.is_open() && subjects_.modules.code_map() != nullptr;
  Thread& thread = subjects_.threads[place];
  if (waits_at_exit(thread)) return Look::kRunning;
  thread.signalled_place = WaitPlace{};
  WaitPlace last;
  bool asleep = false;
  for (int attempt = 0; attempt < kLookAttempts; ++attempt) {
    last = read_wait_place(thread.tid);
    asleep = last.kind == WaitKind::kBlocked || is_hidden(last, thread.tid);
    if (asleep && recording.mode() == RecordMode::kCpu) {
      return pass_over(recording, thread, known);
    }
    if (last.kind == WaitKind::kBlocked && can_walk) {
      const Look found = walk_blocked(recording, place, known, last, now);
      if (found != Look::kMoved) return found;
    } else if (asleep) {
      thread.asleep_cpu_ns = known.run_cpu_ns;
      break;
    } else if (recording.mode() == RecordMode::kOffCpu) {
      if (!may_be_waking(thread, known.run_cpu_ns)) return Look::kRunning;
      break;  // nothing is sent to it: no need to wait until that would be safe
    } else if (has_left_its_call(recording, thread, known)) {
      return Look::kRunning;
    }
  }
  if (!asleep) {
    settle_waking(recording, place, known);
    return Look::kSettled;
  }
  // It blocks and wakes faster than it can be looked at, or where it waits is not shown to a
  // process that gave up its privileges: a signal may meet it blocked.
  if (may_interrupt(recording, last)) {
    ++recording.counters().signals_to_blocked;
    return Look::kRunning;
  }
  frames_.frame_count = 0;
  settle(recording, place, known, last);
  // A hidden place stays hidden for as long as the thread sleeps there.
  if (last.kind == WaitKind::kUnknown) known.run = Run::kSettled;
  return Look::kSettled;
}

// Takes the stack of a blocked thread from outside. Its clock before and after tells whether the
// thread ran meanwhile; then what was read may be torn.
Sampler::Look Sampler::walk_blocked(Recording& recording, std::uint32_t place,
                                    RecordedThread& known, const WaitPlace& wait,
                                    Moment now) noexcept {
  Thread& thread = subjects_.threads[place];
  const unwind::WalkEnd end = walk_from_outside(wait, thread.kept);
  const auto clock = read_thread_clock(thread.tid);
  if (!clock) return Look::kRunning;
  thread.asleep_cpu_ns = clock->count();
  if (clock->count() != known.run_cpu_ns) {
    recording.note_cpu(known, clock->count());
    return Look::kMoved;
  }
  // Not to the root: perhaps through a library that was loaded just now.
  if (end != unwind::WalkEnd::kRoot && end != unwind::WalkEnd::kCut &&
      subjects_.modules.refresh_for_unknown_code(subjects_.memory, now)) {
    subjects_.frames.forget();
    return Look::kMoved;
  }
  if (end == unwind::WalkEnd::kUnknownRegister && may_interrupt(recording, wait)) {
    thread.signalled_place = wait;
    ++recording.counters().signals_to_blocked;
    return Look::kNeedsSignal;
  }
  settle(recording, place, known, wait);
  return Look::kSettled;
}

// What waits is not recorded. Its clock is that of its sleep only when it is read behind the look.
Sampler::Look Sampler::pass_over(Recording& recording, Thread& thread,
                                 RecordedThread& known) noexcept {
  if (const auto clock = read_thread_clock(thread.tid)) {
    recording.note_cpu(known, clock->count());
    thread.asleep_cpu_ns = clock->count();
  }
  recording.leave_out_run(known);
  return Look::kSettled;
}

// A thread that was asleep at its last look and has hardly run since may still be inside that call,
// on its way out, where a signal can turn its result into EINTR: poll looks for signals before it
// sees that its time is over. Waits, bounded, until the thread has run for longer than any way out
// takes. False: it does not get there, it waits for a CPU or has blocked again.
bool Sampler::has_left_its_call(Recording& recording, const Thread& thread,
                                RecordedThread& known) noexcept {
  constexpr int kClockReads = 64;  // 30 µs
  constexpr int kStillReads = 4;
  int still = 0;
  for (int read = 0; read < kClockReads && may_be_waking(thread, known.run_cpu_ns); ++read) {
    const auto clock = read_thread_clock(thread.tid);
    if (!clock) return true;
    still = clock->count() == known.run_cpu_ns ? still + 1 : 0;
    if (still == kStillReads) return false;
    recording.note_cpu(known, clock->count());
  }
  return !may_be_waking(thread, known.run_cpu_ns);
}

// It has been woken and has not come out of its call: its last stack is still its stack.
void Sampler::settle_waking(Recording& recording, std::uint32_t place,
                            RecordedThread& known) noexcept {
  const bool holds = known.settled_cpu_ns == subjects_.threads[place].asleep_cpu_ns &&
                     known.stack_generation == recording.stack_generation();
  if (recording.mode() == RecordMode::kCpu) return recording.leave_out_run(known);
  if (!holds) known.stack = 0;
  read_runqueue(subjects_.threads[place], known);
  known.state = ThreadState::kRunnable;
  known.run = known.stack != 0 ? Run::kSettled : Run::kNone;
  recording.end_run(place, known, known.stack, known.state);
}

WaitPlace Sampler::read_wait_place(Tid tid) const noexcept {
  if (!subjects_.signal_free) return {};
  char text[256];
  const WaitPlace place =
      parse_wait_place(read_task_file(subjects_.threads.directory(), tid, "syscall", text));
  if (place.kind != WaitKind::kUnknown || tid.value != ::getpid()) return place;
  const ssize_t size = ::pread(subjects_.main_thread_wait, text, sizeof(text), 0);
  return size <= 0 ? place : parse_wait_place({text, static_cast<std::size_t>(size)});
}

// Asleep by what everybody may read, also where `syscall` is closed (after setuid,
// PR_SET_DUMPABLE 0).
bool Sampler::is_hidden(const WaitPlace& wait, Tid tid) const noexcept {
  if (wait.kind != WaitKind::kUnknown) return false;
  char text[128];
  const std::string_view stat = read_task_file(subjects_.threads.directory(), tid, "stat", text);
  return is_asleep_by_stat(stat);
}

// Only where the program cannot notice. Otherwise a stack that is marked incomplete has to do.
bool Sampler::may_interrupt(const Recording& recording, const WaitPlace& wait) const noexcept {
  return recording.mode() == RecordMode::kWall && subjects_.can_signal && wait.restarts &&
         handler::restarts_calls();
}

unwind::WalkEnd Sampler::walk_from_outside(const WaitPlace& wait,
                                           const KeptRegisters& kept) noexcept {
  using unwind::WalkEnd;
  const unwind::CodeMap& map = *subjects_.modules.code_map();
  unwind::Registers registers = registers_at(wait, kept);
  StackPieces stack(subjects_.memory);
  const WalkEnd end = unwind::walk(map, registers, stack.reader(), frames_);
  if (end != WalkEnd::kUnknownRegister || (registers.known & 1u << unwind::kRbp) != 0) return end;
  const std::uint64_t pc = frames_.frame_count == 0 ? 0 : frames_.pcs[frames_.frame_count - 1];
  const std::uint64_t pushed_at = frames_.frame_count == 1 ? wait.sp - 8 : stack.find_read(pc);
  if (pc == 0 || pushed_at == 0) return end;
  const auto rbp = subjects_.frames.recover_rbp(subjects_.memory, map, pc, pushed_at + 8);
  if (!rbp) return end;
  registers.values[unwind::kRbp] = *rbp;
  registers.known |= 1u << unwind::kRbp;
  // Only a walk that arrives at the thread's root confirms it.
  if (unwind::walk(map, registers, stack.reader(), frames_) == WalkEnd::kRoot)
    return WalkEnd::kRoot;
  registers.known &= ~(1u << unwind::kRbp);
  return unwind::walk(map, registers, stack.reader(), frames_);
}

void Sampler::settle(Recording& recording, std::uint32_t place, RecordedThread& known,
                     const WaitPlace& wait) noexcept {
  read_runqueue(subjects_.threads[place], known);
  known.state = ThreadState::kBlocked;
  known.stack = intern(recording, frames_, wire_syscall(wait));
  known.stack_generation = recording.stack_generation();
  known.settled_cpu_ns = known.run_cpu_ns;
  known.run = known.stack != 0 ? Run::kSettled : Run::kNone;
  recording.end_run(place, known, known.stack, known.state);
}

void Sampler::ask(Recording& recording, unsigned number, std::uint32_t place, RecordedThread& known,
                  Moment now) noexcept {
  Thread& thread = subjects_.threads[place];
  known.state = ThreadState::kRunning;
  using Asked = SignalPool::Asked;
  const bool can_ask = subjects_.can_signal && now.count() >= thread.muted_until_ns;
  const Asked asked =
      can_ask ? subjects_.signals.ask(place, thread, number, subjects_.threads.directory(), now)
              : Asked::kBlocked;
  if (asked == Asked::kBlocked) {
    read_runqueue(thread, known);
    recording.end_run(place, known, 0, known.state);
    known.run = Run::kNone;
    return;
  }
  if (known.run != Run::kAwaiting) known.signalled_cpu_ns = known.run_cpu_ns;
  known.run = Run::kAwaiting;
  if (asked == Asked::kSent) ++recording.counters().signals_sent;
}

// The open run gets no stack. The signal stays outstanding: its answer serves a later tick.
void Sampler::give_up(Recording& recording, std::uint32_t place, RecordedThread& known,
                      Moment now) noexcept {
  Thread& thread = subjects_.threads[place];
  read_runqueue(thread, known);
  recording.end_run(place, known, 0, ThreadState::kRunning);
  known.run = Run::kNone;
  ++recording.counters().signals_late;
  if (++thread.late_count < kLateBeforeMuted) return;
  thread.late_count = 0;
  thread.muted_until_ns = (now + kMuted).count();
  subjects_.signals.give_up(thread);
}

void Sampler::note_answer(std::uint32_t place, handler::Slot& slot) noexcept {
  Thread& thread = subjects_.threads[place];
  thread.slot = kNoSlot;
  thread.late_count = 0;
  const WaitPlace& wait = thread.signalled_place;
  if (wait.kind != WaitKind::kBlocked) return;
  const std::uint64_t pc = slot.registers.values[unwind::kPc];
  if (slot.registers.values[unwind::kRsp] != wait.sp ||
      (pc != wait.pc && pc + kSyscallBytes != wait.pc)) {
    thread.signalled_place = WaitPlace{};  // it had moved on
    return;
  }
  if (slot.frames.frame_count != 0) slot.frames.pcs[0] = wait.pc;
  thread.kept.place = wait;
  for (std::size_t at = 0; at < std::size(kPreserved); ++at) {
    thread.kept.values[at] = slot.registers.values[kPreserved[at]];
  }
}

void Sampler::take_answer(Recording& recording, std::uint32_t place,
                          const handler::Slot& slot) noexcept {
  const Thread& thread = subjects_.threads[place];
  RecordedThread* known = recording.find_thread(place, thread);
  if (known == nullptr || known->run != Run::kAwaiting) return;
  if (slot.call.outcome == handler::MendedCall::Outcome::kInterrupted)
    ++recording.counters().calls_interrupted;
  const WaitPlace& wait = thread.signalled_place;
  const bool blocked = wait.kind == WaitKind::kBlocked;
  const std::uint32_t stack = intern(recording, slot.frames, blocked ? wire_syscall(wait) : 0);
  // Now it has run: a wait for a CPU that it was in at the tick is complete.
  read_runqueue(thread, *known);
  const bool ran = known->run_cpu_ns > known->written.cpu_ns;
  known->state = blocked ? ThreadState::kBlocked
                 : ran   ? state_of(slot, thread)
                         : ThreadState::kRunnable;
  known->run = Run::kNone;
  if (recording.mode() == RecordMode::kCpu && known->state != ThreadState::kRunning) {
    return recording.leave_out_run(*known);
  }
  recording.end_run(place, *known, stack, known->state);
}

std::uint32_t Sampler::intern(Recording& recording, const unwind::FrameBuffer& frames,
                              std::uint32_t wait_syscall) noexcept {
  if (frames.frame_count == 0) return 0;
  bool is_new = false;
  const std::uint32_t stack =
      recording.intern(frames, wait_syscall, is_new, subjects_.modules, subjects_.threads);
  const unwind::CodeMap* map = subjects_.modules.code_map();
  if (is_new && (frames.flags & wire::kStackBroken) != 0) unknown_code_ = true;
  for (std::uint32_t frame = 0; is_new && map != nullptr && frame < frames.frame_count; ++frame) {
    if (map->find(frames.pcs[frame]) == nullptr) unknown_code_ = true;
  }
  return stack;
}

void Sampler::read_runqueue(const Thread& thread, RecordedThread& known) noexcept {
  if (!subjects_.knows_runqueue) return;
  char text[96];
  const SchedulerTimes times = parse_scheduler_times(
      read_task_file(subjects_.threads.directory(), thread.tid, "schedstat", text));
  if (times.known) known.run_runqueue_ns = static_cast<std::int64_t>(times.runqueue_ns);
}

}  // namespace swipr::agent
