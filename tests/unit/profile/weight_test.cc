#include <gtest/gtest.h>

#include <chrono>

#include "cli/profile/recording.h"

namespace swipr::profile {
namespace {

using namespace std::chrono_literals;

TEST(WeightOf, CountsTicksOrNanoseconds) {
  const Sample sample{0ns, 0, 0, State::kBlocked, 4, 10ns, 20ns, 100ns};
  EXPECT_EQ(weight_of(sample, Weight::kSamples), 4u);
  EXPECT_EQ(weight_of(sample, Weight::kCpu), 10u);
  EXPECT_EQ(weight_of(sample, Weight::kRunqueue), 20u);
  EXPECT_EQ(weight_of(sample, Weight::kWall), 100u);
  EXPECT_EQ(weight_of(sample, Weight::kBlocked), 70u);
}

TEST(WeightOf, IsNeverNegative) {
  const Sample sample{0ns, 0, 0, State::kRunning, 1, 11ns, 0ns, 10ns};
  EXPECT_EQ(weight_of(sample, Weight::kBlocked), 0u);
}

TEST(WeightOf, CallsNothingBlockedWhoseStateIsUnknown) {
  const Sample sample{0ns, 0, 0, State::kUnknown, 1, 0ns, 0ns, 10ns};
  EXPECT_EQ(weight_of(sample, Weight::kBlocked), 0u);
}

}  // namespace
}  // namespace swipr::profile
