#include "cli/fleet/schedule.h"

#include <gtest/gtest.h>

namespace swipr::fleet {
namespace {

using namespace std::chrono_literals;
using Divisors = std::vector<std::uint32_t>;

TEST(Slices, AreAlignedToTheClock) {
  EXPECT_EQ(end_of_slice(1'700'000'003s, 15s), 1'700'000'010s);
  EXPECT_EQ(end_of_slice(1'700'000'010s, 15s), 1'700'000'025s);
  EXPECT_EQ(end_of_slice(1'700'000'010s - 1ns, 15s), 1'700'000'010s);
}

TEST(Recorded, AreThoseThatRan) {
  EXPECT_FALSE(is_worth_recording({.cpu = 9ms}));
  EXPECT_TRUE(is_worth_recording({.cpu = 10ms}));
  EXPECT_FALSE(is_worth_recording({.cpu = 35ms, .is_recorded = true, .overhead = 34ms}));
  EXPECT_TRUE(is_worth_recording({.cpu = 45ms, .is_recorded = true, .overhead = 34ms}));
  EXPECT_EQ(not_recorded(30ms, 10ms), 20ms);
  EXPECT_EQ(not_recorded(10ms, 11ms), 0ns);
}

TEST(DivisorsWithin, AreOneWhereThereIsRoom) {
  const std::vector<Usage> usages = {{.overhead = 10ms}, {.overhead = 5ms}};
  EXPECT_EQ(divisors_within(usages, {}, 20ms), (Divisors{1, 1}));
  EXPECT_EQ(divisors_within({}, {}, 0ms), Divisors{});
}

TEST(DivisorsWithin, HalveTheCostliestFirst) {
  const std::vector<Usage> usages = {{.overhead = 40ms}, {.overhead = 8ms}, {.overhead = 0ms}};
  EXPECT_EQ(divisors_within(usages, {}, 30ms), (Divisors{2, 1, 1}));
  EXPECT_EQ(divisors_within(usages, {}, 12ms), (Divisors{8, 2, 1}));
}

TEST(DivisorsWithin, ReturnOneStepAtATime) {
  const Divisors eight = {8};
  const std::vector<Usage> cheap = {{.overhead = 1ms}};
  EXPECT_EQ(divisors_within(cheap, eight, 20ms), Divisors{4});
  // At a fourth of the rate it would cost twice as much, which is too much.
  const std::vector<Usage> dear = {{.overhead = 15ms}};
  EXPECT_EQ(divisors_within(dear, eight, 20ms), Divisors{8});
}

TEST(DivisorsWithin, EndAtTheLeastRate) {
  const std::vector<Usage> usages = {{.overhead = 1h}, {.overhead = 1h}};
  EXPECT_EQ(divisors_within(usages, {}, 1ns), (Divisors{kLargestDivisor, kLargestDivisor}));
}

}  // namespace
}  // namespace swipr::fleet
