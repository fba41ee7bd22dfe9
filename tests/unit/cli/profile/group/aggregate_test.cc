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

TEST(Aggregate, MergesStacksOfEqualFrames) {
  Recording recording;
  recording.threads.resize(2);
  recording.stacks.resize(4);
  recording.stacks[0].frames = {1, 2};
  recording.stacks[1].frames = {1, 2};
  recording.stacks[1].lock = 0x4000;
  recording.stacks[2].frames = {1, 2};
  recording.stacks[2].omitted_at = 1;
  recording.stacks[3].frames = {1, 2};
  recording.stacks[3].lock = 0x5000;
  std::vector<MergedStack> merged;
  for (const std::uint32_t stack : {0u, 1u, 2u, kNone, 3u, kNone}) {
    merged.push_back({.thread = kNone, .stack = stack, .weights = {1}});
  }
  merged.push_back({.thread = 1, .stack = 3, .weights = {1}});
  merge_equal_frames(recording, merged);
  std::vector<std::array<std::uint64_t, 3>> rows;
  for (const MergedStack& row : merged) rows.push_back({row.stack, row.thread, row.weights[0]});
  const std::vector<std::array<std::uint64_t, 3>> expected = {
      {0, kNone, 3}, {2, kNone, 1}, {kNone, kNone, 2}, {3, 1, 1}};
  EXPECT_EQ(rows, expected);
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
