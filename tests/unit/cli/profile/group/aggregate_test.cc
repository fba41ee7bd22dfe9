#include "cli/profile/group/aggregate.h"

#include <gtest/gtest.h>

#include "tests/golden/golden_recording.h"

namespace swipr::profile {
namespace {

TEST(Aggregate, MergesEqualStacksOfAThreadInAState) {
  const auto merged = aggregate(golden::make_golden().recording);
  ASSERT_EQ(merged.size(), 7u);
  EXPECT_EQ(merged[0].thread, 0u);
  EXPECT_EQ(merged[0].stack, 0u);
  EXPECT_EQ(merged[0].state, State::kRunning);
  EXPECT_EQ(merged[0].weights[index_of(Weight::kSamples)], 2u);
  EXPECT_EQ(merged[0].weights[index_of(Weight::kCpu)], 19'000'000u);
}

TEST(Aggregate, LeavesOutOfTheKeyWhatIsNotAskedFor) {
  const auto by_stack =
      aggregate(golden::make_golden().recording, {.by_thread = false, .by_state = false});
  ASSERT_EQ(by_stack.size(), 5u);
  EXPECT_EQ(by_stack[0].thread, kNone);
  EXPECT_EQ(by_stack[1].weights[index_of(Weight::kSamples)], 55u);
  EXPECT_EQ(by_stack[4].stack, kNone);  // without a stack
}

TEST(Aggregate, GroupsByStackThenByFirstAppearance) {
  Recording recording;
  recording.threads.resize(2);
  recording.stacks.resize(3);
  const auto add = [&](std::uint32_t thread, std::uint32_t stack, State state) {
    Sample& sample = recording.samples.emplace_back();
    sample.thread = thread;
    sample.stack = stack;
    sample.state = state;
  };
  add(0, kNone, State::kRunning);
  add(1, 2, State::kRunning);
  add(1, 0, State::kBlocked);
  add(0, 2, State::kRunning);
  add(1, 0, State::kRunning);
  add(1, 2, State::kRunning);
  add(1, 0, State::kBlocked);
  std::vector<std::array<std::uint64_t, 4>> rows;
  for (const MergedStack& row : aggregate(recording)) {
    rows.push_back({row.stack, row.thread, static_cast<std::uint64_t>(row.state),
                    row.weights[index_of(Weight::kSamples)]});
  }
  const std::vector<std::array<std::uint64_t, 4>> expected = {
      {0, 1, 2, 2}, {0, 1, 0, 1}, {2, 1, 0, 2}, {2, 0, 0, 1}, {kNone, 0, 0, 1}};
  EXPECT_EQ(rows, expected);
}

}  // namespace
}  // namespace swipr::profile
