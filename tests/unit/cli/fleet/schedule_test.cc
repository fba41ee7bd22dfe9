#include "cli/fleet/schedule.h"

#include <gtest/gtest.h>

namespace swipr::fleet {
namespace {

using namespace std::chrono_literals;

TEST(Slices, AreAlignedToTheClock) {
  EXPECT_EQ(end_of_slice(1'700'000'003s, 15s), 1'700'000'010s);
  EXPECT_EQ(end_of_slice(1'700'000'010s, 15s), 1'700'000'025s);
  EXPECT_EQ(end_of_slice(1'700'000'010s - 1ns, 15s), 1'700'000'010s);
}

TEST(Recorded, AreThoseThatRan) {
  EXPECT_FALSE(is_worth_recording({.cpu = 9ms}));
  EXPECT_TRUE(is_worth_recording({.cpu = 10ms}));
  EXPECT_FALSE(is_worth_recording({.cpu = 35ms, .overhead = 34ms}));
  EXPECT_TRUE(is_worth_recording({.cpu = 45ms, .overhead = 34ms}));
  EXPECT_EQ(not_recorded(30ms, 10ms), 20ms);
  EXPECT_EQ(not_recorded(10ms, 11ms), 0ns);
}

}  // namespace
}  // namespace swipr::fleet
