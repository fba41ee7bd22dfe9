#include "preload/agent/sample/sampler.h"

#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>

#include "preload/agent/proc/thread_clock.h"
#include "preload/agent/threads/own_waiters.h"

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

// A CPU timer is looked at by the kernel's clock interrupt, at 100 to 1000 Hz: at shorter intervals
// a thread that runs all the time is seen more often by asking it.
constexpr std::chrono::milliseconds kTimerTick{4};
constexpr std::uint8_t kBusyLooks = 8;

// A wait that began since the last look may be made to begin again where that was this long ago:
// time-outs that the kernel does not count down become longer by as much. Twice the usual interval.
constexpr std::chrono::milliseconds kYoungWait{20};

bool is_poll(std::int64_t system_call) noexcept {
  return system_call == SYS_poll || system_call == SYS_ppoll || system_call == SYS_select ||
         system_call == SYS_pselect6;
}

bool is_young(const Recording& recording, const RecordedThread& known) noexcept {
  return std::chrono::nanoseconds(recording.tick_ns() - known.run_ns) <= kYoungWait;
}

// It runs nearly all the time, and ticks see it at least as often as its timer does.
bool keeps_busy(const Recording& recording, const Thread& thread, const RecordedThread& known,
                bool told_by_timer) noexcept {
  if (thread.looks.busy_looks != kBusyLooks) return false;
  return !known.bursts.is_left_to_timer() || (told_by_timer && recording.interval() < kTimerTick);
}

// Since its last look it has run for a small part of the time at most.
bool has_hardly_run(const Recording& recording, const RecordedThread& known,
                    std::int64_t clock_ns) noexcept {
  constexpr std::int64_t kDivisor = 16;
  return (clock_ns - known.run_cpu_ns) * kDivisor <= recording.tick_ns() - known.run_ns;
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
  if (thread.tid.value == own_waiters::starting_tid.load(std::memory_order_relaxed)) {
    read_runqueue(thread, known);
    recording.skip_to_now(known, clock_ns);
    return true;
  }
  if (own_waiters::contains(thread.tid)) return true;
  if (thread.looks.name_looks_left != 0) {
    --thread.looks.name_looks_left;
    subjects_.threads.refresh_name(place);
  }
  recording.plan_look(place, judge(recording, known, clock_ns));
  const bool timed = look_after_timer(recording, thread, known, clock_ns);
  recording.set_timed(place, known, timed);
  if (timed && recording.stretches()) {
    known.bursts.leave_to_timer(clock_ns, recording.interval().count());
    recording.credit_met_stack(place, known, known.run_cpu_ns);
  }
  const bool ran = clock_ns != known.run_cpu_ns;
  if (!ran && recording.mode() == RecordMode::kCpu) {
    recording.credit_cpu(place, known);
    return true;
  }
  if (!ran && recording.holds(known)) {
    recording.extend_run(known, clock_ns);
    recording.credit_cpu(place, known);
    if (recording.is_long(known)) {
      recording.end_open_run(place, known);
      recording.credit_met_stack(place, known, known.run_cpu_ns);
    }
    return true;
  }
  // It is to be asked again, and sleeps by now: a signal could end its call.
  if (known.run == Run::kAwaiting && !thread.signal.is_asked() && !timed && is_asleep(thread)) {
    read_runqueue(thread, known);
    recording.end_run(place, known, 0, ThreadState::kRunning);
    known.run = Run::kNone;
  }
  if (known.run == Run::kAwaiting) {
    if (clock_ns - known.signalled_cpu_ns <= kAnswerBudgetNs) {
      if (!ran) recording.note_queued(known);
      recording.extend_run(known, clock_ns);
      if (!thread.signal.is_asked() && timed) {
        known.run = Run::kNone;
      } else if (!thread.signal.is_asked() && !thread.looks.may_be_waking(clock_ns)) {
        ask(recording, number, place, known, now);
      }
      return true;
    }
    give_up(recording, place, known, now);
  } else if (timed ? recording.holds(known) : known.run != Run::kDeferred || ran) {
    recording.end_open_run(place, known);
  }
  note_busy_look(recording, thread, known, clock_ns);
  known.wait_is_young = ran && is_young(recording, known);
  recording.extend_run(known, clock_ns);
  const bool told_by_timer = recording.credit_cpu(place, known);
  if (known.is_timed && keeps_busy(recording, thread, known, told_by_timer)) {
    subjects_.timers.stop(thread);
    thread.looks.runs_in_bursts = false;
    recording.set_timed(place, known, false);
  }
  if (!has_time_to_look()) {
    known.run = Run::kDeferred;
    known.state = ThreadState::kUnknown;
    return true;
  }
  known.run = Run::kNone;
  const Look found_to_be = look(recording, place, known, now);
  if (found_to_be == Look::kSettled) return true;
  const bool left_to_timer =
      known.is_timed && found_to_be == Look::kRunning && !is_met_in_burst(thread, known);
  if (left_to_timer || found_to_be == Look::kFleeting) {
    if (recording.mode() != RecordMode::kCpu) read_runqueue(thread, known);
    leave_to_timer(recording, place, known);
    return true;
  }
  if (recording.mode() != RecordMode::kOffCpu) {
    if (!thread.looks.was_on_cpu) is_on_cpu(thread, known);
    ask(recording, number, place, known, now);
  } else if (ran) {
    recording.leave_out_run(known);
  } else {
    recording.end_queued_run(place, known, 0);
  }
  return true;
}

// How much of the time since its last look the thread has run.
Activity Sampler::judge(const Recording& recording, RecordedThread& known,
                        std::int64_t clock_ns) noexcept {
  constexpr std::uint8_t kStillBeforeIdle = 4;
  const std::int64_t ran_ns = clock_ns - known.run_cpu_ns;
  known.still_looks =
      ran_ns != 0 ? 0 : std::min<std::uint8_t>(known.still_looks + 1, kStillBeforeIdle);
  // It ran or waited for a CPU at its last look: its answer is awaited, or its timer has its stack.
  const bool awake = known.run == Run::kNone && known.is_timed;
  if (known.run == Run::kAwaiting || (awake && recording.mode() == RecordMode::kWall))
    return Activity::kBusy;
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
  if (known->is_timed) read_runqueue(thread, *known);
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

// A thread that has run and waits again has run in bursts. Who has to get onto a CPU to look at it
// comes when the thread leaves it, or too late: bursts of microseconds are never met.
void Sampler::time_bursts(const Recording& recording, std::uint32_t place,
                          const RecordedThread& known) noexcept {
  const bool ran = known.run_cpu_ns > known.written.cpu_ns;
  if (!ran || !subjects_.can_signal || recording.mode() == RecordMode::kOffCpu) return;
  Thread& thread = subjects_.threads[place];
  if (!thread.looks.runs_in_bursts) thread.looks.busy_looks = 0;
  thread.looks.runs_in_bursts = true;
  if (CpuTimers::runs(thread)) return;
  subjects_.timers.start(place, thread, recording.interval(), subjects_.signals,
                         subjects_.threads.directory(), monotonic_now(), known.run_cpu_ns);
}

// Whether the stacks of the thread's CPU time are apart from those of its waits: taken by ticks
// that meet it at work, or by its timer.
bool Sampler::look_after_timer(const Recording& recording, Thread& thread, RecordedThread& known,
                               std::int64_t clock_ns) noexcept {
  if (recording.mode() == RecordMode::kOffCpu || !thread.looks.runs_in_bursts) return false;
  if (CpuTimers::runs(thread)) {
    if (CpuTimers::is_silent(thread, clock_ns)) {
      subjects_.timers.give_up(thread);
    } else if (recording.interval().count() < thread.timer.interval_ns()) {
      subjects_.timers.stop(thread);  // a slower recording's: it gets another when it waits again
    }
  }
  known.bursts.look(clock_ns, recording.interval().count());
  return CpuTimers::runs(thread) || !known.bursts.is_left_to_timer();
}

// It is at work this moment, on another CPU or on this one, from which this thread took it.
bool Sampler::is_met_in_burst(Thread& thread, const RecordedThread& known) noexcept {
  if (known.bursts.is_left_to_timer() || thread.looks.may_be_waking(known.run_cpu_ns)) return false;
  if (thread.looks.was_on_cpu || is_on_cpu(thread, known)) return true;
  // Those look for signals before they see that their time is over: it would begin anew.
  if (is_poll(thread.looks.last_wait_call)) return false;
  char text[512];
  return is_runnable_on(read_task_file(subjects_.threads.directory(), thread.tid, "stat", text),
                        ::sched_getcpu());
}

// It runs: its timer will take its stack. If it has hardly slept since its last entry, it waited
// for its CPU, where it runs. Otherwise its next wait that is seen gets the time, or its last wait
// where none is seen for long. Behind read_runqueue.
void Sampler::leave_to_timer(Recording& recording, std::uint32_t place,
                             RecordedThread& known) noexcept {
  if (recording.mode() == RecordMode::kCpu) return recording.leave_out_run(known);
  const std::uint32_t run_stack = recording.run_stack(known);
  if (run_stack != 0 && recording.has_hardly_slept(known)) {
    return recording.end_run(place, known, run_stack, ThreadState::kRunnable);
  }
  if (!recording.is_long(known)) return;
  recording.end_run(place, known, recording.wait_stack(known), ThreadState::kBlocked);
}

void Sampler::note_busy_look(const Recording& recording, Thread& thread,
                             const RecordedThread& known, std::int64_t clock_ns) noexcept {
  const std::int64_t passed_ns = recording.tick_ns() - known.run_ns;
  const bool busy = (clock_ns - known.run_cpu_ns) * 8 >= passed_ns * 7;
  thread.looks.busy_looks =
      busy ? std::min<std::uint8_t>(thread.looks.busy_looks + 1, kBusyLooks) : 0;
}

void Sampler::begin_tick(std::chrono::nanoseconds looking_time) noexcept {
  looking_time_ = looking_time;
  looks_ = 0;
}

bool Sampler::has_time_to_look() noexcept {
  // The first few always: however late a tick is, every one of them gets on.
  if (looks_++ < kFreeLooks) return true;
  if (looks_ == kFreeLooks + 1) looking_until_ = read_own_clock() + looking_time_;
  return read_own_clock() < looking_until_;
}

void Sampler::ask(Recording& recording, unsigned number, std::uint32_t place, RecordedThread& known,
                  Moment now) noexcept {
  Thread& thread = subjects_.threads[place];
  known.state = ThreadState::kRunning;
  using Asked = SignalPool::Asked;
  const bool can_ask = subjects_.can_signal && now.count() >= thread.looks.muted_until_ns;
  const Asked asked =
      can_ask ? subjects_.signals.ask(place, thread, number, subjects_.threads.directory(), now,
                                      known.run_cpu_ns)
              : Asked::kBlocked;
  if (asked == Asked::kBlocked) {
    // Until its mask is known the thread may be in one of libc's calls that block all signals.
    if (can_ask && thread.signal.mask_is_known()) blocked_signal_ = true;
    read_runqueue(thread, known);
    recording.end_run(place, known, 0, known.state);
    known.run = Run::kNone;
    return;
  }
  if (known.run != Run::kAwaiting) known.signalled_cpu_ns = known.run_cpu_ns;
  known.run = Run::kAwaiting;
  if (asked == Asked::kSent) ++recording.counters().signals_sent;
}

// The open run gets no stack. A signal that still waits stays outstanding: its answer serves a
// later tick.
void Sampler::give_up(Recording& recording, std::uint32_t place, RecordedThread& known,
                      Moment now) noexcept {
  Thread& thread = subjects_.threads[place];
  read_runqueue(thread, known);
  recording.end_run(place, known, 0, ThreadState::kRunning);
  known.run = Run::kNone;
  ++recording.counters().signals_late;
  if (subjects_.signals.cancel_lost(thread, subjects_.threads.directory())) {
    ++recording.counters().signals_lost;
    return;
  }
  if (++thread.looks.late_count < kLateBeforeMuted) return;
  thread.looks.late_count = 0;
  thread.looks.muted_until_ns = (now + kMuted).count();
  recording.note_muted_thread();
  subjects_.signals.give_up(thread);
}

void Sampler::read_runqueue(const Thread& thread, RecordedThread& known) noexcept {
  if (!subjects_.knows_runqueue) return;
  char text[96];
  const SchedulerTimes times = parse_scheduler_times(subjects_.files.read(
      subjects_.threads.directory(), thread.tid, TaskFiles::Kind::kSchedstat, text));
  if (!times.known) return;
  known.run_runqueue_ns = static_cast<std::int64_t>(times.runqueue_ns);
  if (known.is_timed) known.bursts.note_slices(known.run_cpu_ns, times.slices);
}

}  // namespace swipr::agent
