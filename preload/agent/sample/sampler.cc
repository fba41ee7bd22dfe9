#include "preload/agent/sample/sampler.h"

#include <unistd.h>

#include <algorithm>

#include "preload/agent/proc/thread_clock.h"
#include "preload/agent/threads/own_waiters.h"

namespace swipr::agent {

namespace {

using Run = RunState::Kind;
using wire::RecordMode;
using wire::ThreadState;

// A thread that has used this much CPU since it was signalled either blocks the signal or is busy
// in one system call; until then a late answer still shows where it has been.
constexpr std::int64_t kAnswerBudgetNs = 10'000'000;
constexpr std::uint8_t kLateBeforeMuted = 16;
constexpr std::chrono::seconds kMuted{1};

// A wait that began since the last check may be restarted if that check was at most this long ago:
// timeouts that the kernel does not update are extended by up to this time. Twice the usual
// interval.
constexpr std::chrono::milliseconds kYoungWait{20};

// The thread has run since its last check. A wait that goes on now began after that check and after
// the CPU time used since. Call before the run is extended to this tick.
void note_youngest_wait(const Recording& recording, RecordedThread& known, std::int64_t clock_ns,
                        Moment now) noexcept {
  const std::int64_t checked_ns = known.account.tick_ns();
  const Moment since_check{recording.accounts().tick_ns() - checked_ns};
  const Moment used{clock_ns - known.account.cpu_ns()};
  known.looks.wait_is_young_until = now - since_check + used + kYoungWait;
  known.looks.knows_queued_since = known.looks.runqueue_tick_ns >= checked_ns;
}

// Since its last check it has run for at most a small part of the time.
bool has_hardly_run(const Recording& recording, const RecordedThread& known,
                    std::int64_t clock_ns) noexcept {
  constexpr std::int64_t kDivisor = 16;
  return (clock_ns - known.account.cpu_ns()) * kDivisor <=
         recording.accounts().tick_ns() - known.account.tick_ns();
}

}  // namespace

void Sampler::meet(Recording& recording, std::uint32_t place) noexcept {
  const Thread& thread = process_.threads[place];
  const std::optional<std::chrono::nanoseconds> clock = read_thread_clock(thread.tid);
  if (!clock) return;
  RecordedThread* known = recording.accounts().thread(place, thread, clock->count(), true);
  if (known == nullptr) return;
  read_runqueue(recording, thread, *known);
  recording.accounts().begin_runqueue(*known);
}

bool Sampler::sample(Recording& recording, unsigned number, std::uint32_t place,
                     Moment now) noexcept {
  Thread& thread = process_.threads[place];
  const std::optional<std::chrono::nanoseconds> clock = read_thread_clock(thread.tid);
  if (!clock) {
    RecordedThread* gone = recording.accounts().find(place, thread);
    if (gone != nullptr) recording.accounts().note_gone(*gone);
    return false;
  }
  const std::int64_t clock_ns = clock->count();
  RecordedThread* known = recording.accounts().thread(place, thread, clock_ns, false);
  if (known == nullptr) {
    ++recording.counters().samples_dropped;
    return true;
  }
  if (is_in_own_code(recording, thread, *known, clock_ns)) return true;
  if (thread.looks.name_looks_left != 0) {
    --thread.looks.name_looks_left;
    process_.threads.refresh_name(place);
  }
  recording.plan_look(place, judge(recording, thread, *known, clock_ns));
  split_bursts(recording, place, *known, clock_ns);
  act(observe(recording, thread, *known, clock_ns), recording, number, place, *known, clock_ns,
      now);
  // One that waits for a CPU looks idle by its clock, and may run all the time from the next moment
  // on.
  const Run run = known->run.kind();
  if (run == Run::kAwaiting || (run == Run::kDeferred && known->account.has_run()))
    recording.plan_look(place, Activity::kBusy);
  return true;
}

// The thread waits in swipr's own frames, which are not part of the program.
bool Sampler::is_in_own_code(Recording& recording, const Thread& thread, RecordedThread& known,
                             std::int64_t clock_ns) noexcept {
  if (thread.tid.value == own_waiters::starting_tid.load(std::memory_order_relaxed)) {
    read_runqueue(recording, thread, known);
    recording.accounts().skip_to_now(known, clock_ns);
    return true;
  }
  return own_waiters::contains(thread.tid);
}

Observation Sampler::observe(const Recording& recording, const Thread& thread,
                             const RecordedThread& known, std::int64_t clock_ns) noexcept {
  Observation seen{.mode = recording.mode(),
                   .run = known.run.kind(),
                   .ran = clock_ns != known.account.cpu_ns(),
                   .holds = recording.accounts().holds(known),
                   .timed = known.burst.is_timed()};
  seen.has_other_holder = !seen.ran && seen.holds && has_other_holder(known);
  if (seen.run != Run::kAwaiting) return seen;
  seen.is_asked = thread.signal.is_asked();
  seen.is_waking = thread.looks.may_be_waking(clock_ns);
  seen.is_late = known.run.since_signal(clock_ns) > kAnswerBudgetNs;
  looked_at_ = monotonic_now();
  seen.is_asleep = !seen.is_asked && !seen.timed && is_asleep(thread);
  return seen;
}

void Sampler::act(const Observation& seen, Recording& recording, unsigned number,
                  std::uint32_t place, RecordedThread& known, std::int64_t clock_ns,
                  Moment now) noexcept {
  ThreadAccounts& accounts = recording.accounts();
  const Action action = decide(seen);
  switch (action) {
    case Action::kCredit:
      accounts.credit_timer_stack(known);
      return;
    case Action::kKeepStack:
      return keep_stack(accounts, known, clock_ns);
    case Action::kAwaitAnswer:
    case Action::kLeaveToTimer:
    case Action::kAskAgain:
      if (seen.ran) {
        note_youngest_wait(recording, known, clock_ns, now);
      } else {
        accounts.note_queued(known);
      }
      accounts.extend_run(known, clock_ns);
      if (action == Action::kLeaveToTimer) known.run.reopen();
      if (action == Action::kAskAgain &&
          !(seen.ran && may_leave_unseen_wait(recording, process_.threads[place], known))) {
        ask(recording, number, place, known, now);
      }
      return;
    case Action::kLoseAndLook:
      lose_run(recording, process_.threads[place], known);
      break;
    case Action::kGiveUpAndLook:
      give_up(recording, place, known, now);
      break;
    case Action::kEndAndLook:
      accounts.end_open_run(known);
      break;
    case Action::kLook:
      break;
  }
  if (!extend_to(recording, known, clock_ns, now)) return;
  const Look found = look(recording, place, known, now);
  follow(found, seen.ran, recording, number, place, known, now);
}

void Sampler::keep_stack(ThreadAccounts& accounts, RecordedThread& known,
                         std::int64_t clock_ns) noexcept {
  accounts.extend_run(known, clock_ns);
  accounts.credit_timer_stack(known);
  if (accounts.is_long(known)) accounts.end_open_run(known);
}

// Extends the open run to this tick. False: there is no time left for a check.
bool Sampler::extend_to(Recording& recording, RecordedThread& known, std::int64_t clock_ns,
                        Moment now) noexcept {
  note_busy_look(recording, known, clock_ns);
  const bool ran = clock_ns != known.account.cpu_ns();
  if (ran) {
    note_youngest_wait(recording, known, clock_ns, now);
  } else if (known.run.kind() != Run::kDeferred) {
    known.looks.wait_is_young_until = {};
  }
  recording.accounts().extend_run(known, clock_ns);
  const bool told_by_timer = recording.accounts().credit_timer_stack(known);
  if (known.burst.is_timed() && keeps_busy(recording, known, told_by_timer)) {
    known.looks.runs_in_bursts = false;
    set_timed(recording, known, false);
  }
  if (!has_time_to_look()) {
    known.run.defer();
    return false;
  }
  known.run.reopen();
  return true;
}

// Acts on the result of a look: an entry, a signal, or nothing yet.
void Sampler::follow(Look found, bool ran, Recording& recording, unsigned number,
                     std::uint32_t place, RecordedThread& known, Moment now) noexcept {
  if (found == Look::kSettled) return;
  Thread& thread = process_.threads[place];
  if (own_waiters::contains(thread.tid)) return known.run.defer();  // since the look began
  const bool left_to_timer =
      known.burst.is_timed() && found == Look::kRunning && !is_met_in_burst(thread, known);
  if (left_to_timer || found == Look::kFleeting) {
    if (recording.mode() != RecordMode::kCpu) read_runqueue(recording, thread, known);
    leave_to_timer(recording, known);
  } else if (recording.mode() != RecordMode::kOffCpu) {
    if (!thread.looks.was_on_cpu) is_on_cpu(thread, known);
    ask(recording, number, place, known, now);
  } else if (ran) {
    recording.accounts().leave_out_run(known);
  } else {
    recording.accounts().end_queued_run(known, 0);
  }
}

// Share of the time since its last check that the thread has run. One that waits for a CPU looks
// idle by its clock, and may run all the time from the next moment on: only sleep makes a thread
// idle.
Activity Sampler::judge(const Recording& recording, Thread& thread, RecordedThread& known,
                        std::int64_t clock_ns) noexcept {
  constexpr std::uint8_t kStillBeforeIdle = 4;
  const bool ran = clock_ns != known.account.cpu_ns();
  known.looks.still = ran ? 0 : std::min<std::uint8_t>(known.looks.still + 1, kStillBeforeIdle);
  // It ran or waited for a CPU at its last check: its answer is outstanding, or its timer has its
  // stack.
  const bool awake = known.run.kind() == Run::kNone && known.burst.is_timed();
  if (known.run.kind() == Run::kAwaiting || (awake && recording.mode() == RecordMode::kWall))
    return Activity::kBusy;
  if (ran) return has_hardly_run(recording, known, clock_ns) ? Activity::kLight : Activity::kBusy;
  const bool still = known.looks.still == kStillBeforeIdle;
  if (thread.looks.asleep_cpu_ns == clock_ns || (still && sleeps(thread, clock_ns)))
    return still ? Activity::kIdle : Activity::kLight;
  if (still) known.looks.still = 0;
  return Activity::kBusy;
}

// It has slept since its clock showed this.
bool Sampler::sleeps(Thread& thread, std::int64_t clock_ns) noexcept {
  if (!is_asleep(thread)) return false;
  const auto clock = read_thread_clock(thread.tid);
  if (!clock || clock->count() != clock_ns) return false;
  thread.looks.asleep_cpu_ns = clock_ns;
  return true;
}

void Sampler::close_account(Recording& recording, std::uint32_t place, Moment now) noexcept {
  const Thread& thread = process_.threads[place];
  RecordedThread* known = recording.accounts().find(place, thread);
  if (known == nullptr) return;
  const std::optional<std::chrono::nanoseconds> clock = read_thread_clock(thread.tid);
  if (!clock) return;
  const std::int64_t clock_ns = clock->count();
  const bool left_out = recording.accounts().leaves_out(*known);
  if (known->burst.is_timed()) read_runqueue(recording, thread, *known);
  // All threads wake when a process ends: their state then does not represent the time before.
  const bool woken_at_the_end = left_out && recording.accounts().holds(*known) &&
                                clock_ns != known->account.cpu_ns() &&
                                has_hardly_run(recording, *known, clock_ns);
  if (woken_at_the_end) read_runqueue(recording, thread, *known);
  const bool still = woken_at_the_end || clock_ns == known->account.cpu_ns();
  // A new generation of stacks may have begun since.
  const bool stale = known->run.kind() == Run::kSettled && !recording.accounts().holds(*known);
  if (left_out && (!still || stale)) {
    recording.accounts().end_open_run(*known);
    known->run.defer();
    read_runqueue(recording, thread, *known);
  }
  recording.close_account(*known, clock_ns);
  if (known->run.kind() != Run::kDeferred || !(still || left_out)) return;
  known->run.reopen();
  if (look(recording, place, *known, now) == Look::kSettled) return;
  // It runs, and no later tick would collect its stack.
  const bool all = recording.mode() == RecordMode::kWall;
  known->run.set_thread_state(all ? ThreadState::kRunning : ThreadState::kUnknown);
}

void Sampler::begin_tick(std::chrono::nanoseconds looking_time, Moment now) noexcept {
  looking_time_ = looking_time;
  looks_ = 0;
  find_context(now);
  offer_label_slots();
}

bool Sampler::has_time_to_look() noexcept {
  // The first few always, so that even late ticks make progress.
  if (looks_++ < kFreeLooks) return true;
  if (looks_ == kFreeLooks + 1) looking_until_ = read_own_clock() + looking_time_;
  return read_own_clock() < looking_until_;
}

// Ruby, when it starts, moves its main thread's stack pointer to the end of the stack for an
// instant. A signal finds no room for its frame there, and the kernel would end the process. A
// program that only has the library mapped gets signals after a second of CPU time.
bool Sampler::may_leave_no_stack(const Thread& thread, std::int64_t clock_ns) const noexcept {
  constexpr std::int64_t kStartNs = 1'000'000'000;
  return clock_ns < kStartNs && thread.tid.value == ::getpid() &&
         process_.modules.runtimes().is_ruby_starting();
}

void Sampler::ask(Recording& recording, unsigned number, std::uint32_t place, RecordedThread& known,
                  Moment now) noexcept {
  Thread& thread = process_.threads[place];
  known.run.set_thread_state(ThreadState::kRunning);
  using Asked = SignalPool::Asked;
  HiddenWait& wait = thread.looks.hidden;
  // The control thread may have waited for a CPU since, and the thread may have begun a wait.
  Moment not_after = looked_at_ + kYoungWait;
  if (wait.asked == HiddenWait::Asked::kYes) not_after = std::min(not_after, wait.ask_until);
  const bool can_ask = process_.can_signal && now.count() >= thread.looks.muted_until_ns &&
                       !may_leave_no_stack(thread, known.account.cpu_ns());
  if (can_ask) {
    process_.languages.prepare(process_.modules.runtimes(), process_.memory, place, thread);
  }
  const Asked asked =
      can_ask ? process_.signals.ask(place, thread, number, process_.threads.directory(), now,
                                     not_after, known.account.cpu_ns())
              : Asked::kBlocked;
  if (asked == Asked::kBlocked) {
    // Until its mask is known the thread may be in one of libc's calls that block all signals.
    if (can_ask && thread.signal.mask_is_known()) blocked_signal_ = true;
    return lose_run(recording, thread, known);
  }
  if (asked == Asked::kFailed) wait.asked = HiddenWait::Asked::kNo;
  known.run.await_answer(known.account.cpu_ns());
  if (asked == Asked::kSent) ++recording.counters().signals_sent;
}

// The open run gets no stack.
void Sampler::lose_run(Recording& recording, const Thread& thread, RecordedThread& known) noexcept {
  read_runqueue(recording, thread, known);
  recording.accounts().end_run(known, 0, ThreadState::kRunning);
  known.run.reopen();
}

// The same for one that does not answer. A pending signal stays outstanding: its answer is used by
// a later tick.
void Sampler::give_up(Recording& recording, std::uint32_t place, RecordedThread& known,
                      Moment now) noexcept {
  Thread& thread = process_.threads[place];
  lose_run(recording, thread, known);
  ++recording.counters().signals_late;
  if (process_.signals.cancel_lost(thread, process_.threads.directory())) {
    ++recording.counters().signals_lost;
    return;
  }
  if (++thread.looks.late_count < kLateBeforeMuted) return;
  thread.looks.late_count = 0;
  thread.looks.muted_until_ns = (now + kMuted).count();
  recording.note_muted_thread();
  process_.signals.give_up(thread);
}

void Sampler::read_runqueue(Recording& recording, const Thread& thread,
                            RecordedThread& known) noexcept {
  if (!process_.knows_runqueue) return;
  char text[96];
  const SchedulerTimes times = parse_scheduler_times(process_.files.read(
      process_.threads.directory(), thread.tid, TaskFiles::Kind::kSchedstat, text));
  if (!times.known) return;
  recording.accounts().note_runqueue(known, static_cast<std::int64_t>(times.runqueue_ns));
  known.looks.runqueue_tick_ns = recording.accounts().tick_ns();
  if (known.burst.is_timed()) known.looks.bursts.note_slices(known.account.cpu_ns(), times.slices);
}

}  // namespace swipr::agent
