// What a tick does about a thread: decided here, from what was observed, and done by the Sampler.
// Pure.
#pragma once

#include <cstdint>

#include "common/wire/format.h"
#include "preload/agent/proc/proc_files.h"
#include "preload/agent/record/run_state.h"

namespace swipr::agent {

// At a tick, before the thread is looked at: from its CPU clock and its open run.
struct Observation {
  wire::RecordMode mode = wire::RecordMode::kWall;
  RunState::Kind run = RunState::Kind::kNone;
  bool ran = false;        // since its last look
  bool holds = false;      // its stack was settled, and its id still stands for that
  bool timed = false;      // its CPU time goes to stacks of its own (BurstStack)
  bool is_asked = false;   // a signal is outstanding
  bool is_asleep = false;  // observed only of one whose answer was lost: kAwaiting and not asked
  bool is_waking = false;  // it may still be inside the call in which it was last seen asleep
  bool is_late = false;    // it has used more CPU since its signal than an answer may take
};

enum class Action : std::uint8_t {
  kCredit,         // only CPU time counts, and it has used none: credit what its timer took
  kKeepStack,      // it slept on: its stack stands for this tick, too
  kAwaitAnswer,    // extend its run
  kLeaveToTimer,   // extend its run, whose stack its timer will take
  kAskAgain,       // extend its run and ask for its stack again
  kEndAndLook,     // end its run as what it is known to be, then look
  kLoseAndLook,    // end its run without a stack, as it sleeps by now, then look
  kGiveUpAndLook,  // end its run without a stack, as it does not answer, then look
  kLook,           // look, and go on with the open run
};

constexpr Action decide(const Observation& seen) noexcept {
  if (!seen.ran && seen.mode == wire::RecordMode::kCpu) return Action::kCredit;
  if (!seen.ran && seen.holds) return Action::kKeepStack;
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

// During a look from outside: what the kernel has just said about the thread.
struct Sight {
  wire::RecordMode mode = wire::RecordMode::kWall;
  WaitKind wait = WaitKind::kUnknown;
  bool is_hidden = false;  // asleep where the kernel does not say in which call
  bool can_walk = false;   // its stack can be read from outside
  bool is_waking = false;
};

enum class LookStep : std::uint8_t {
  kPassOver,      // what waits is not recorded
  kWalk,          // walk its stack from outside
  kAskHidden,     // its stack is known from a signal, or is to be
  kStop,          // asleep, without a stack
  kRunning,       // it runs
  kStopAwake,     // on its way out of its call, and nothing is sent to it
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

// After other steps that settle nothing the look begins again, a bounded number of times.
constexpr bool ends_look(LookStep step) noexcept {
  return step == LookStep::kStop || step == LookStep::kStopAwake;
}

}  // namespace swipr::agent
