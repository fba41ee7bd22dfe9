// Decides, from observations, what a tick does with a thread; the Sampler executes it. Pure.
#pragma once

#include <cstdint>

#include "common/wire/format.h"
#include "preload/agent/proc/proc_files.h"
#include "preload/agent/record/accounts/run_state.h"

namespace swipr::agent {

// Observations at a tick before the thread is checked: from its CPU clock and its open run.
struct Observation {
  wire::RecordMode mode = wire::RecordMode::kWall;
  RunState::Kind run = RunState::Kind::kNone;
  bool ran = false;               // since its last check
  bool holds = false;             // its stack was settled, and its id is still valid
  bool has_other_holder = false;  // of the lock that it waits for
  bool timed = false;             // its CPU time goes to separate stacks (BurstStack)
  bool is_asked = false;          // a signal is outstanding
  bool is_asleep = false;  // observed only if its answer was lost: kAwaiting without a signal
  bool is_waking = false;  // it may still be in the call in which it was last found asleep
  bool is_late = false;    // it has used more CPU since its signal than an answer may take
};

enum class Action : std::uint8_t {
  kCredit,         // only CPU time counts, and it has used none: credit what its timer took
  kKeepStack,      // it slept throughout: its stack applies to this tick, too
  kAwaitAnswer,    // extend its run
  kLeaveToTimer,   // extend its run, whose stack its timer will take
  kAskAgain,       // extend its run and request its stack again
  kEndAndLook,     // end its run with its known state, then check
  kLoseAndLook,    // end its run without a stack, as it sleeps now, then check
  kGiveUpAndLook,  // end its run without a stack, as it does not answer, then check
  kLook,           // check, and continue the open run
};

constexpr Action decide(const Observation& seen) noexcept {
  if (!seen.ran && seen.mode == wire::RecordMode::kCpu) return Action::kCredit;
  if (!seen.ran && seen.holds) {
    return seen.has_other_holder ? Action::kEndAndLook : Action::kKeepStack;
  }
  if (seen.run == RunState::Kind::kAwaiting) {
    // A signal could end the call in which it sleeps.
    if (!seen.is_asked && !seen.timed && seen.is_asleep) return Action::kLoseAndLook;
    if (seen.is_late) return Action::kGiveUpAndLook;
    if (seen.is_asked) return Action::kAwaitAnswer;
    if (seen.timed) return Action::kLeaveToTimer;
    return seen.is_waking ? Action::kAwaitAnswer : Action::kAskAgain;
  }
  const bool goes_on =
      seen.timed ? !seen.holds : seen.run == RunState::Kind::kDeferred && !seen.ran;
  return goes_on ? Action::kLook : Action::kEndAndLook;
}

// Observations during a check from outside: what the kernel has just reported.
struct Sight {
  wire::RecordMode mode = wire::RecordMode::kWall;
  WaitKind wait = WaitKind::kUnknown;
  bool is_hidden = false;  // asleep in a call that the kernel does not show
  bool can_walk = false;   // its stack can be read from outside
  bool is_waking = false;
};

enum class LookStep : std::uint8_t {
  kPassOver,      // waits are not recorded
  kWalk,          // walk its stack from outside
  kAskHidden,     // its stack is known from a signal, or will be
  kStop,          // asleep, without a stack
  kRunning,       // it runs
  kStopAwake,     // leaving its call, and no signal is sent to it
  kAwaitLeaving,  // no signal before it has left its call
};

constexpr LookStep next_step(const Sight& seen) noexcept {
  const bool blocked = seen.wait == WaitKind::kBlocked;
  const bool asleep = blocked || seen.is_hidden;
  if (asleep && seen.mode == wire::RecordMode::kCpu) return LookStep::kPassOver;
  if (blocked && seen.can_walk) return LookStep::kWalk;
  if (seen.is_hidden) return LookStep::kAskHidden;
  if (asleep) return LookStep::kStop;
  if (seen.mode != wire::RecordMode::kOffCpu) return LookStep::kAwaitLeaving;
  return seen.is_waking ? LookStep::kStopAwake : LookStep::kRunning;
}

// After other steps, which settle nothing, the check begins again, a bounded number of times.
constexpr bool ends_look(LookStep step) noexcept {
  return step == LookStep::kStop || step == LookStep::kStopAwake;
}

}  // namespace swipr::agent
