// Evaluates the answers of signalled threads.
#include <sys/syscall.h>

#include <algorithm>

#include "common/core/runtime_frame.h"
#include "preload/agent/sample/found_place.h"
#include "preload/agent/sample/sampler.h"
#include "preload/agent/threads/own_waiters.h"
#include "preload/handler/label_slots.h"
#include "preload/machine/older_calls.h"

namespace swipr::agent {

namespace {

using Run = RunState::Kind;
using Asked = HiddenWait::Asked;
using wire::RecordMode;
using wire::ThreadState;

// Calls that only wait.
bool is_pure_wait(std::int32_t call) noexcept {
  constexpr std::int32_t kCalls[] = {
      SYS_futex,         machine::kEpollWait, SYS_epoll_pwait,     SYS_epoll_pwait2,
      machine::kPoll,    SYS_ppoll,           machine::kSelect,    SYS_pselect6,
      SYS_nanosleep,     SYS_accept,          SYS_clock_nanosleep, SYS_accept4,
      SYS_rt_sigsuspend, machine::kPause,     SYS_rt_sigtimedwait, SYS_semtimedop,
      SYS_wait4,         SYS_waitid,          SYS_io_getevents,    SYS_mq_timedreceive};
  return std::find(std::begin(kCalls), std::end(kCalls), call) != std::end(kCalls);
}

}  // namespace

std::uint32_t Sampler::wire_syscall(std::int64_t number) noexcept {
  return static_cast<std::uint32_t>(number + 1);
}

// The thread has begun to wait in swipr's code, and the stack was taken there.
bool Sampler::is_of_own_wait(const Thread& thread, const unwind::FrameBuffer& frames) noexcept {
  const unwind::CodeMap* const map = process_.modules.code_map();
  if (!own_waiters::contains(thread.tid) || map == nullptr) return false;
  const unwind::CodeRange* const own =
      map->find(reinterpret_cast<std::uint64_t>(&own_waiters::contains));
  for (std::uint32_t frame = 0; own != nullptr && frame < frames.frame_count; ++frame) {
    if (map->find(frames.pcs[frame]) == own) return true;
  }
  return false;
}

// Of a thread that was found in a call or behind one. -1: not known.
std::int32_t Sampler::call_of(const handler::Slot& slot) noexcept {
  return slot.call.number >= 0 ? slot.call.number : found_call(process_.memory, slot.registers);
}

// State of a thread that has run since its last entry, at the time of its signal. One that was
// found in a wait had reached it before its signal; one that was not on a CPU, and had just left a
// call that only waits, had been woken and waited for a CPU. They have used their CPU time
// elsewhere.
ThreadState Sampler::state_of(const handler::Slot& slot, const Thread& thread) noexcept {
  switch (found_at(process_.memory, slot.registers)) {
    case Found::kInAWait:
      return thread.looks.was_on_cpu ? ThreadState::kBlocked : ThreadState::kRunnable;
    case Found::kBehindACall:
      if (thread.looks.was_on_cpu || !is_pure_wait(call_of(slot))) break;
      return ThreadState::kRunnable;
    default:
      break;
  }
  return ThreadState::kRunning;
}

// If its call is repeated, the thread returns to the same wait. The frame is that of the call, as
// in other waits.
void Sampler::note_hidden_answer(Thread& thread, handler::Slot& slot) noexcept {
  HiddenWait& wait = thread.looks.hidden;
  if (wait.asked != Asked::kYes) return;
  wait.asked = Asked::kNo;
  if (slot.call.outcome == handler::MendedCall::Outcome::kInterrupted) wait.takes_signals = false;
  if (found_at(process_.memory, slot.registers) != Found::kInAWait || !wait.takes_signals) return;
  wait.asked = Asked::kFoundWaiting;
  ++wait.switches;
  if (slot.frames.frame_count != 0)
    slot.frames.pcs[0] = pc_behind_call(process_.memory, slot.registers);
  thread.looks.signalled_place = {.system_call = call_of(slot)};
}

void Sampler::note_answer(std::uint32_t place, handler::Slot& slot) noexcept {
  Thread& thread = process_.threads[place];
  SignalPool::note_answered(thread);
  thread.looks.late_count = 0;
  note_hidden_answer(thread, slot);
  const WaitPlace& wait = thread.looks.signalled_place;
  if (wait.kind != WaitKind::kBlocked) return;
  const std::uint64_t pc = slot.registers.values[unwind::kPcRegister];
  if (slot.registers.values[unwind::kStackRegister] != wait.sp ||
      (pc != wait.pc && pc + unwind::kSyscallBytes != wait.pc)) {
    thread.looks.signalled_place = WaitPlace{};  // it had moved on
    return;
  }
  if (slot.frames.frame_count != 0) slot.frames.pcs[0] = wait.pc;
  thread.looks.kept.place = wait;
  for (std::size_t at = 0; at < std::size(KeptRegisters::kNumbers); ++at) {
    thread.looks.kept.values[at] = slot.registers.values[KeptRegisters::kNumbers[at]];
  }
}

void Sampler::splice_answer(std::uint32_t place, handler::Slot& slot) noexcept {
  process_.languages.splice_answer(process_.modules.runtimes(), process_.memory, place,
                                   process_.threads[place], slot, slot.frames);
}

void Sampler::take_answer(Recording& recording, std::uint32_t place,
                          const handler::Slot& slot) noexcept {
  const Thread& thread = process_.threads[place];
  RecordedThread* known = recording.accounts().find(place, thread);
  if (known == nullptr || known->run.kind() != Run::kAwaiting) return;
  if (is_of_own_wait(thread, slot.frames)) return known->run.defer();
  if (slot.bare) ++recording.counters().signals_bare;
  if (slot.call.outcome == handler::MendedCall::Outcome::kInterrupted) {
    ++recording.counters().calls_interrupted;
    process_.loses_arguments = unwind::kResultReplacesArgument;
  }
  const WaitPlace& wait = thread.looks.signalled_place;
  const bool hidden = thread.looks.hidden.asked == HiddenWait::Asked::kFoundWaiting;
  const bool blocked = hidden || wait.kind == WaitKind::kBlocked;
  // Its tables are built now: the next tick signals it again.
  if (!blocked && slot.is_cut_short()) return;
  // It has run since: its wait for a CPU at the time of the tick is over.
  read_runqueue(recording, thread, *known);
  const ThreadState state = blocked                    ? ThreadState::kBlocked
                            : known->account.has_run() ? state_of(slot, thread)
                                                       : ThreadState::kRunnable;
  WaitKey key;
  if (blocked) {
    key.syscall = wire_syscall(wait.system_call);
  } else if (state == ThreadState::kBlocked) {  // a wait has begun since the tick
    key.syscall = wire_syscall(call_of(slot));
  }
  const std::uint32_t stack =
      intern(recording, slot.frames, key, slot.calls, handler::labels_of(slot));
  if (hidden) {
    known->run.keep_stack(stack, recording.stack_generation());
    known->looks.hidden_wait = thread.looks.hidden.number;
  }
  known->run.set_thread_state(state);
  known->run.reopen();
  if (known->burst.is_timed() && state == ThreadState::kRunning) {
    if (!known->looks.bursts.is_left_to_timer()) {
      known->looks.bursts.note_met();
      recording.accounts().note_met_stack(*known, stack);
    }
    return leave_to_timer(recording, *known);
  }
  if (recording.mode() == RecordMode::kCpu && state != ThreadState::kRunning) {
    return recording.accounts().leave_out_run(*known);
  }
  recording.accounts().end_run(*known, stack, state);
}

bool Sampler::take_timer_stack(Recording& recording, std::uint32_t place,
                               const handler::Slot& slot) noexcept {
  RecordedThread* known = recording.accounts().find(place, process_.threads[place]);
  const bool needed = known != nullptr && known->looks.runs_in_bursts &&
                      known->looks.bursts.is_left_to_timer() &&
                      !is_of_own_wait(process_.threads[place], slot.frames);
  if (!needed) return false;
  CpuTimers::note_fired(process_.threads[place], known->account.cpu_ns());
  recording.plan_look(place, Activity::kBusy);  // above the budget it may count as idle
  recording.accounts().note_timer_stack(
      *known, intern(recording, slot.frames, {}, slot.calls, handler::labels_of(slot)));
  return true;
}

std::uint32_t Sampler::intern(Recording& recording, const unwind::FrameBuffer& frames, WaitKey wait,
                              const unwind::OpenCalls& calls,
                              const labels::LabelSet* labels) noexcept {
  if (frames.frame_count == 0) return 0;
  if (process_.languages.has_nameless(frames)) ++recording.counters().stacks_nameless;
  bool is_new = false;
  const std::uint32_t stack =
      recording.intern(frames, wait, calls, labels, is_new, process_.modules, process_.threads);
  const unwind::CodeMap* map = process_.modules.code_map();
  if (is_new && (frames.flags & wire::kStackBroken) != 0) unknown_code_ = true;
  for (std::uint32_t frame = 0; is_new && map != nullptr && frame < frames.frame_count; ++frame) {
    const std::uint64_t pc = frames.pcs[frame];
    if (!is_runtime_frame(pc) && map->find(pc) == nullptr) unknown_code_ = true;
  }
  return stack;
}

}  // namespace swipr::agent
