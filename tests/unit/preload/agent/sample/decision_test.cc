#include "preload/agent/sample/decision.h"

#include <gtest/gtest.h>

namespace swipr::agent {
namespace {

using RunKind = RunState::Kind;
using wire::RecordMode;

struct DecisionCase {
  const char* what;
  Observation seen;
  Action action;
};

TEST(AgentDecision, FollowsFromWhatATickObserves) {
  const DecisionCase cases[] = {
      {"new or seen before, and has to be looked at", {}, Action::kEndAndLook},
      {"it ran behind its last stack",
       {.run = RunKind::kSettled, .ran = true},
       Action::kEndAndLook},
      {"it sleeps on", {.run = RunKind::kSettled, .holds = true}, Action::kKeepStack},
      {"it sleeps on, and its lock has passed to another thread",
       {.run = RunKind::kSettled, .holds = true, .has_other_holder = true},
       Action::kEndAndLook},
      {"it sleeps on, but the id of its stack is another's",
       {.run = RunKind::kSettled},
       Action::kEndAndLook},
      {"the stack holds no more once it ran",
       {.run = RunKind::kSettled, .ran = true, .holds = true},
       Action::kEndAndLook},
      {"no time to look before, and nothing has changed",
       {.run = RunKind::kDeferred},
       Action::kLook},
      {"no time to look before: what it did then is lost",
       {.run = RunKind::kDeferred, .ran = true},
       Action::kEndAndLook},
      {"only CPU time counts, and it used none", {.mode = RecordMode::kCpu}, Action::kCredit},
      {"the same while an answer is awaited",
       {.mode = RecordMode::kCpu, .run = RunKind::kAwaiting},
       Action::kCredit},
      {"off-CPU time counts", {.mode = RecordMode::kOffCpu}, Action::kEndAndLook},
  };
  for (const DecisionCase& one : cases) EXPECT_EQ(decide(one.seen), one.action) << one.what;
}

TEST(AgentDecision, IsPatientWithThreadsThatWereAsked) {
  const Observation awaiting{.run = RunKind::kAwaiting, .ran = true, .is_asked = true};
  EXPECT_EQ(decide(awaiting), Action::kAwaitAnswer);
  Observation late = awaiting;
  late.is_late = true;
  EXPECT_EQ(decide(late), Action::kGiveUpAndLook);
  Observation lost = awaiting;
  lost.is_asked = false;
  EXPECT_EQ(decide(lost), Action::kAskAgain);
  lost.is_waking = true;
  EXPECT_EQ(decide(lost), Action::kAwaitAnswer) << "a signal could end its call";
  lost.timed = true;
  EXPECT_EQ(decide(lost), Action::kLeaveToTimer);
  lost.timed = false;
  lost.is_asleep = true;
  EXPECT_EQ(decide(lost), Action::kLoseAndLook) << "a signal could end its call";
  lost.is_late = true;
  EXPECT_EQ(decide(lost), Action::kLoseAndLook) << "nothing was asked that could be given up";
}

TEST(AgentDecision, KeepsTheWaitOfATimedThreadOpen) {
  Observation timed{.ran = true, .timed = true};
  EXPECT_EQ(decide(timed), Action::kLook) << "its next wait that is seen gets the time";
  timed.run = RunKind::kSettled;
  timed.holds = true;
  EXPECT_EQ(decide(timed), Action::kEndAndLook);
}

TEST(AgentDecision, SignalsNobodyThatSleeps) {
  for (const RunKind kind :
       {RunKind::kNone, RunKind::kSettled, RunKind::kDeferred, RunKind::kAwaiting}) {
    for (unsigned bits = 0; bits < 128; ++bits) {
      const Observation seen{.run = kind,
                             .ran = (bits & 1) != 0,
                             .holds = (bits & 2) != 0,
                             .timed = (bits & 4) != 0,
                             .is_asked = (bits & 8) != 0,
                             .is_asleep = (bits & 16) != 0,
                             .is_waking = (bits & 32) != 0,
                             .is_late = (bits & 64) != 0};
      if (decide(seen) != Action::kAskAgain) continue;
      EXPECT_EQ(kind, RunKind::kAwaiting);
      EXPECT_FALSE(seen.is_asleep || seen.is_waking || seen.is_asked || seen.timed) << bits;
    }
  }
}

TEST(AgentDecision, LooksAccordingToWhatTheKernelSays) {
  struct LookCase {
    const char* what;
    Sight seen;
    LookStep step;
  };
  const Sight blocked{.wait = WaitKind::kBlocked, .can_walk = true};
  const Sight hidden{.is_hidden = true, .can_walk = true};
  const Sight awake{.wait = WaitKind::kRunning, .can_walk = true};
  const auto with = [](Sight seen, RecordMode mode) {
    seen.mode = mode;
    return seen;
  };
  Sight waking = with(awake, RecordMode::kOffCpu);
  waking.is_waking = true;
  Sight unreadable = blocked;
  unreadable.can_walk = false;
  const LookCase cases[] = {
      {"blocked", blocked, LookStep::kWalk},
      {"blocked, memory cannot be read", unreadable, LookStep::kStop},
      {"blocked, not recorded", with(blocked, RecordMode::kCpu), LookStep::kPassOver},
      {"blocked, off-CPU time", with(blocked, RecordMode::kOffCpu), LookStep::kWalk},
      {"hidden", hidden, LookStep::kAskHidden},
      {"hidden, not recorded", with(hidden, RecordMode::kCpu), LookStep::kPassOver},
      {"awake", awake, LookStep::kAwaitLeaving},
      {"awake, CPU time", with(awake, RecordMode::kCpu), LookStep::kAwaitLeaving},
      {"awake, off-CPU time", with(awake, RecordMode::kOffCpu), LookStep::kRunning},
      {"waking, off-CPU time", waking, LookStep::kStopAwake},
      {"unknown and not asleep", {.can_walk = true}, LookStep::kAwaitLeaving},
  };
  for (const LookCase& one : cases) EXPECT_EQ(next_step(one.seen), one.step) << one.what;
}

}  // namespace
}  // namespace swipr::agent
