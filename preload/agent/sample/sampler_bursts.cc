// Threads that run in bursts: whether ticks or timers sample their CPU time, and what their waits
// get.
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>

#include "preload/agent/sample/sampler.h"
#include "preload/machine/older_calls.h"

namespace swipr::agent {

namespace {

using wire::RecordMode;
using wire::ThreadState;

// The kernel checks a CPU timer in its clock interrupt, at 100 to 1000 Hz: at shorter intervals a
// thread that runs all the time is sampled more often by signals.
constexpr std::chrono::milliseconds kTimerTick{4};
constexpr std::uint8_t kBusyLooks = 8;

bool is_poll(std::int64_t system_call) noexcept {
  return system_call == machine::kPoll || system_call == SYS_ppoll ||
         system_call == machine::kSelect || system_call == SYS_pselect6;
}

}  // namespace

// Timers interrupt no call: they are silent while a call lasts.
bool Sampler::prefers_timers(const Recording& recording) const noexcept {
  return unwind::kResultReplacesArgument && process_.loses_arguments && process_.can_signal &&
         process_.timers.is_usable() && recording.mode() != RecordMode::kOffCpu;
}

// It runs nearly all the time, and ticks sample it at least as often as its timer does.
bool Sampler::keeps_busy(const Recording& recording, const RecordedThread& known,
                         bool told_by_timer) const noexcept {
  if (known.looks.busy != kBusyLooks || prefers_timers(recording)) return false;
  return !known.looks.bursts.is_left_to_timer() ||
         (told_by_timer && recording.interval() < kTimerTick);
}

// A thread that has run and waits again has run in bursts. The control thread, which has to get a
// CPU first, runs when the thread leaves it, or too late: it never finds bursts of microseconds
// running.
void Sampler::note_burst(const Recording& recording, RecordedThread& known) noexcept {
  if (!known.account.has_run() || !process_.can_signal || recording.mode() == RecordMode::kOffCpu)
    return;
  if (!known.looks.runs_in_bursts) known.looks.busy = 0;
  known.looks.runs_in_bursts = true;
}

// Starts or stops separating the stacks of CPU time from those of waits.
void Sampler::split_bursts(Recording& recording, std::uint32_t place, RecordedThread& known,
                           std::int64_t clock_ns) noexcept {
  BurstJudge& bursts = known.looks.bursts;
  if (prefers_timers(recording)) known.looks.runs_in_bursts = true;
  if (!known.looks.runs_in_bursts) return set_timed(recording, known, false);
  const std::int64_t interval_ns = recording.interval().count();
  bursts.look(clock_ns, interval_ns);
  if (recording.stretches() || prefers_timers(recording))
    bursts.leave_to_timer(clock_ns, interval_ns);
  if (bursts.fails_trials() || recording.stretches()) recording.note_clock_bound_bursts();
  set_timed(recording, known, !bursts.is_left_to_timer() || has_timer(recording, place, clock_ns));
}

void Sampler::set_timed(Recording& recording, RecordedThread& known, bool timed) noexcept {
  if (known.burst.is_timed() == timed) return;
  recording.accounts().set_timed(known, timed);
  known.looks.bursts.restart();
}

// Gives the thread a timer if it has none. Engine::collect stops timers that no recording needs.
bool Sampler::has_timer(const Recording& recording, std::uint32_t place,
                        std::int64_t clock_ns) noexcept {
  Thread& thread = process_.threads[place];
  CpuTimers& timers = process_.timers;
  if (may_leave_no_stack(thread, clock_ns)) {
    timers.stop(thread);
    return false;
  }
  if (CpuTimers::runs(thread)) {
    if (!prefers_timers(recording) && CpuTimers::is_silent(thread, clock_ns)) {
      timers.give_up(thread);
    } else if (recording.interval().count() < thread.timer.interval_ns()) {
      timers.stop(thread);  // a slower recording's
    }
  }
  if (CpuTimers::runs(thread)) return true;
  timers.start(place, thread, recording.interval(), process_.signals, process_.threads.directory(),
               monotonic_now(), clock_ns);
  return CpuTimers::runs(thread);
}

// It is running, on another CPU or on this one, where the control thread has preempted it.
bool Sampler::is_met_in_burst(Thread& thread, const RecordedThread& known) noexcept {
  if (known.looks.bursts.is_left_to_timer() || thread.looks.may_be_waking(known.account.cpu_ns()))
    return false;
  if (thread.looks.was_on_cpu || is_on_cpu(thread, known)) return true;
  // These check for signals before they check whether their timeout has expired: it would start
  // again.
  if (is_poll(thread.looks.last_wait_call)) return false;
  char text[512];
  return is_runnable_on(read_task_file(process_.threads.directory(), thread.tid, "stat", text),
                        ::sched_getcpu());
}

// It runs: its timer will take its stack. If it has hardly slept since its last entry, it waited
// for a CPU in its running stack. Otherwise its next observed wait gets the time, or its last wait
// if none is observed for long. After read_runqueue.
void Sampler::leave_to_timer(Recording& recording, RecordedThread& known) noexcept {
  if (recording.mode() == RecordMode::kCpu) return recording.accounts().leave_out_run(known);
  const std::uint32_t run_stack = recording.accounts().run_stack(known);
  if (run_stack != 0 && recording.accounts().has_hardly_slept(known)) {
    return recording.accounts().end_run(known, run_stack, ThreadState::kRunnable);
  }
  if (!recording.accounts().is_long(known)) return;
  recording.accounts().end_run(known, recording.accounts().wait_stack(known),
                               ThreadState::kBlocked);
}

void Sampler::note_busy_look(const Recording& recording, RecordedThread& known,
                             std::int64_t clock_ns) noexcept {
  const std::int64_t passed_ns = recording.accounts().tick_ns() - known.account.tick_ns();
  const bool busy = (clock_ns - known.account.cpu_ns()) * 8 >= passed_ns * 7;
  known.looks.busy = busy ? std::min<std::uint8_t>(known.looks.busy + 1, kBusyLooks) : 0;
}

}  // namespace swipr::agent
