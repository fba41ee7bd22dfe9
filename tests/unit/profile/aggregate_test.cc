#include "cli/profile/aggregate.h"

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
  EXPECT_EQ(by_stack[1].stack, kNone);  // without a stack
  EXPECT_EQ(by_stack[4].weights[index_of(Weight::kSamples)], 55u);
}

}  // namespace
}  // namespace swipr::profile
