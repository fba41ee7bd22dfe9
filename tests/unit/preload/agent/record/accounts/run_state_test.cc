#include "preload/agent/record/accounts/run_state.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace swipr::agent {
namespace {

using RunKind = RunState::Kind;
using wire::ThreadState;

constexpr std::uint32_t kStackGeneration = 7;

RunState run_in(RunKind kind) {
  RunState run;
  if (kind == RunKind::kSettled) run.settle(3, kStackGeneration, 100);
  if (kind == RunKind::kDeferred) run.defer();
  if (kind == RunKind::kAwaiting) run.await_answer(100);
  return run;
}

struct Transition {
  std::string name;
  std::function<void(RunState&)> make;
  RunKind with_stack;     // where it leads
  RunKind without_stack;  // … when no stack is kept
};

const std::vector<Transition>& transitions() {
  static const std::vector<Transition> all = {
      {"reopen", [](RunState& run) { run.reopen(); }, RunKind::kNone, RunKind::kNone},
      {"defer", [](RunState& run) { run.defer(); }, RunKind::kDeferred, RunKind::kDeferred},
      {"await_answer", [](RunState& run) { run.await_answer(200); }, RunKind::kAwaiting,
       RunKind::kAwaiting},
      {"settle", [](RunState& run) { run.settle(run.stack(), kStackGeneration, 200); },
       RunKind::kSettled, RunKind::kNone},
      {"settle_waking", [](RunState& run) { run.settle_waking(); }, RunKind::kSettled,
       RunKind::kNone},
      {"settle_hidden", [](RunState& run) { run.settle_hidden(kStackGeneration, 200); },
       RunKind::kSettled, RunKind::kSettled},
  };
  return all;
}

TEST(AgentRunState, GoesWhereItsTableSays) {
  for (const RunKind from :
       {RunKind::kNone, RunKind::kSettled, RunKind::kDeferred, RunKind::kAwaiting}) {
    for (const Transition& transition : transitions()) {
      for (const std::uint32_t stack : {0u, 5u}) {
        SCOPED_TRACE(transition.name + " from " + std::to_string(static_cast<int>(from)));
        RunState run = run_in(from);
        run.keep_stack(stack, kStackGeneration);
        transition.make(run);
        EXPECT_EQ(run.kind(), stack != 0 ? transition.with_stack : transition.without_stack);
        EXPECT_EQ(run.stack(), stack) << "no transition loses the stack of the last wait";
      }
    }
  }
}

TEST(AgentRunState, SaysWhatTheThreadIsDoing) {
  RunState run;
  EXPECT_EQ(run.thread_state(), ThreadState::kUnknown);
  run.settle(3, kStackGeneration, 100);
  EXPECT_EQ(run.thread_state(), ThreadState::kBlocked);
  run.settle_waking();
  EXPECT_EQ(run.thread_state(), ThreadState::kRunnable);
  run.settle_hidden(kStackGeneration, 100);
  EXPECT_EQ(run.thread_state(), ThreadState::kBlocked);
  run.defer();
  EXPECT_EQ(run.thread_state(), ThreadState::kUnknown);
}

TEST(AgentRunState, HoldsOnlyInTheGenerationOfItsStack) {
  RunState run = run_in(RunKind::kSettled);
  EXPECT_TRUE(run.holds(kStackGeneration));
  EXPECT_FALSE(run.holds(kStackGeneration + 1));
  EXPECT_EQ(run.stack_of(kStackGeneration), 3u);
  EXPECT_EQ(run.stack_of(kStackGeneration + 1), 0u);
  run.reopen();
  EXPECT_FALSE(run.holds(kStackGeneration));
  EXPECT_EQ(run.stack_of(kStackGeneration), 3u);
}

TEST(AgentRunState, CountsFromTheFirstSignalOfARun) {
  RunState run;
  run.await_answer(100);
  run.await_answer(250);
  EXPECT_EQ(run.since_signal(300), 200);
  run.reopen();
  run.await_answer(400);
  EXPECT_EQ(run.since_signal(410), 10);
}

TEST(AgentRunState, KnowsTheClockOfItsStack) {
  RunState run = run_in(RunKind::kSettled);
  EXPECT_TRUE(run.was_settled_at(100));
  run.settle_waking();
  EXPECT_TRUE(run.was_settled_at(100)) << "it is the same wait";
  run.settle(4, kStackGeneration, 150);
  EXPECT_FALSE(run.was_settled_at(100));
}

}  // namespace
}  // namespace swipr::agent
