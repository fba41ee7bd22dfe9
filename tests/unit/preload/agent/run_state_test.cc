#include "preload/agent/record/run_state.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace swipr::agent {
namespace {

using Kind = RunState::Kind;
using wire::ThreadState;

constexpr std::uint32_t kGeneration = 7;

RunState in(Kind kind) {
  RunState run;
  if (kind == Kind::kSettled) run.settle(3, kGeneration, 100);
  if (kind == Kind::kDeferred) run.defer();
  if (kind == Kind::kAwaiting) run.await_answer(100);
  return run;
}

struct Transition {
  std::string name;
  std::function<void(RunState&)> make;
  Kind with_stack;     // where it leads
  Kind without_stack;  // … when no stack is kept
};

const std::vector<Transition>& table() {
  static const std::vector<Transition> transitions = {
      {"reopen", [](RunState& run) { run.reopen(); }, Kind::kNone, Kind::kNone},
      {"defer", [](RunState& run) { run.defer(); }, Kind::kDeferred, Kind::kDeferred},
      {"await_answer", [](RunState& run) { run.await_answer(200); }, Kind::kAwaiting,
       Kind::kAwaiting},
      {"settle", [](RunState& run) { run.settle(run.stack(), kGeneration, 200); }, Kind::kSettled,
       Kind::kNone},
      {"settle_waking", [](RunState& run) { run.settle_waking(); }, Kind::kSettled, Kind::kNone},
      {"settle_hidden", [](RunState& run) { run.settle_hidden(kGeneration, 200); }, Kind::kSettled,
       Kind::kSettled},
  };
  return transitions;
}

TEST(AgentRunState, GoesWhereItsTableSays) {
  for (const Kind from : {Kind::kNone, Kind::kSettled, Kind::kDeferred, Kind::kAwaiting}) {
    for (const Transition& transition : table()) {
      for (const std::uint32_t stack : {0u, 5u}) {
        SCOPED_TRACE(transition.name + " from " + std::to_string(static_cast<int>(from)));
        RunState run = in(from);
        run.keep_stack(stack, kGeneration);
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
  run.settle(3, kGeneration, 100);
  EXPECT_EQ(run.thread_state(), ThreadState::kBlocked);
  run.settle_waking();
  EXPECT_EQ(run.thread_state(), ThreadState::kRunnable);
  run.settle_hidden(kGeneration, 100);
  EXPECT_EQ(run.thread_state(), ThreadState::kBlocked);
  run.defer();
  EXPECT_EQ(run.thread_state(), ThreadState::kUnknown);
}

TEST(AgentRunState, HoldsOnlyInTheGenerationOfItsStack) {
  RunState run = in(Kind::kSettled);
  EXPECT_TRUE(run.holds(kGeneration));
  EXPECT_FALSE(run.holds(kGeneration + 1));
  EXPECT_EQ(run.stack_of(kGeneration), 3u);
  EXPECT_EQ(run.stack_of(kGeneration + 1), 0u);
  run.reopen();
  EXPECT_FALSE(run.holds(kGeneration));
  EXPECT_EQ(run.stack_of(kGeneration), 3u);
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
  RunState run = in(Kind::kSettled);
  EXPECT_TRUE(run.was_settled_at(100));
  run.settle_waking();
  EXPECT_TRUE(run.was_settled_at(100)) << "it is the same wait";
  run.settle(4, kGeneration, 150);
  EXPECT_FALSE(run.was_settled_at(100));
}

}  // namespace
}  // namespace swipr::agent
