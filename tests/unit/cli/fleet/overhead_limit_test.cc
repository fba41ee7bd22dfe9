#include "cli/fleet/overhead_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace swipr::fleet {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<unsigned> limited(std::vector<RecordingCost> costs, std::chrono::nanoseconds allowed) {
  return limit_overhead(costs, allowed);
}

TEST(LimitOverhead, LeavesRatesAloneBelowTheLimit) {
  EXPECT_THAT(limited({}, 10ms), IsEmpty());
  EXPECT_THAT(limited({{6ms, 0}, {4ms, 0}}, 10ms), ElementsAre(0, 0));
}

TEST(LimitOverhead, HalvesTheDearestUntilTheRestFits) {
  EXPECT_THAT(limited({{8ms, 0}, {4ms, 0}, {1ms, 0}}, 10ms), ElementsAre(1, 0, 0));
  EXPECT_THAT(limited({{8ms, 0}, {4ms, 0}, {1ms, 0}}, 5ms), ElementsAre(2, 1, 0));
}

TEST(LimitOverhead, HalvesNoRateForEver) {
  EXPECT_THAT(limited({{8ms, 0}, {8ms, 3}, {8ms, kMostHalvings}}, 1us), Each(kMostHalvings));
}

TEST(LimitOverhead, GivesRatesBackWithSomeRoomLeft) {
  EXPECT_THAT(limited({{1ms, 2}, {2ms, 1}, {1ms, 0}}, 10ms), ElementsAre(0, 1, 0));
  EXPECT_THAT(limited({{1ms, 2}, {1ms, 0}}, 3ms), ElementsAre(2, 0));  // above half of it
  EXPECT_THAT(limited({{0ms, 4}}, 10ms), ElementsAre(0));
}

}  // namespace
}  // namespace swipr::fleet
