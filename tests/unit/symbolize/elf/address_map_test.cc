#include "symbolize/elf/address_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace swipr::symbolize {
namespace {

TEST(AddressMap, FindsNothingInAnEmptyMap) {
  EXPECT_EQ(AddressMap().find({0}), std::nullopt);
  EXPECT_EQ(AddressMap(std::vector<Interval>{}).find({5}), std::nullopt);
}

TEST(AddressMap, TreatsIntervalsAsHalfOpen) {
  const AddressMap map({{{10}, {20}, 0, 1}});
  EXPECT_EQ(map.find({9}), std::nullopt);
  EXPECT_EQ(map.find({10}), 1u);
  EXPECT_EQ(map.find({19}), 1u);
  EXPECT_EQ(map.find({20}), std::nullopt);
}

TEST(AddressMap, LetsTheHigherPriorityWinAndTheLowerResume) {
  const AddressMap map({{{0}, {100}, 1, 1}, {{40}, {60}, 2, 2}, {{50}, {90}, 0, 3}});
  EXPECT_EQ(map.find({39}), 1u);
  EXPECT_EQ(map.find({40}), 2u);
  EXPECT_EQ(map.find({59}), 2u);
  EXPECT_EQ(map.find({60}), 1u);
  EXPECT_EQ(map.find({99}), 1u);
}

TEST(AddressMap, KeepsGapsBetweenIntervals) {
  const AddressMap map({{{0}, {10}, 0, 1}, {{20}, {30}, 0, 1}});
  EXPECT_EQ(map.find({15}), std::nullopt);
  EXPECT_EQ(map.find({25}), 1u);
}

TEST(AddressMap, IgnoresEmptyAndReversedIntervals) {
  const AddressMap map({{{10}, {10}, 9, 1}, {{30}, {20}, 9, 2}, {{5}, {40}, 0, 3}});
  EXPECT_EQ(map.find({10}), 3u);
  EXPECT_EQ(map.find({25}), 3u);
}

TEST(AddressMap, ReachesTheLastAddress) {
  const AddressMap map({{{~std::uint64_t{0} - 4}, {~std::uint64_t{0}}, 0, 7}});
  EXPECT_EQ(map.find({~std::uint64_t{0} - 1}), 7u);
}

// Later ones of equal priority win.
void expect_agreement_with_a_search(const std::vector<Interval>& intervals) {
  const AddressMap map(intervals);
  for (std::uint64_t address = 0; address < 90; ++address) {
    std::optional<std::uint32_t> expected;
    for (const Interval& interval : intervals) {
      const bool covers = interval.begin.value <= address && address < interval.end.value;
      if (covers && (!expected || interval.value > *expected)) expected = interval.value;
    }
    ASSERT_EQ(map.find({address}), expected) << "address " << address;
  }
}

TEST(AddressMap, AgreesWithASearchThroughAllIntervals) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals;
    for (std::uint32_t index = 0; index < 12; ++index) {
      const std::uint64_t begin = random() % 60;
      intervals.push_back({{begin}, {begin + random() % 20}, index, index});
    }
    std::shuffle(intervals.begin(), intervals.end(), random);
    expect_agreement_with_a_search(intervals);
  }
}

// As functions and functions inlined in them do.
TEST(AddressMap, AgreesWithASearchWhereIntervalsNest) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals = {{{0}, {80}, 0, 0}};
    std::uint64_t free_from = 0;  // after the previous one, or within it
    for (std::uint32_t index = 1; index < 12 && free_from < 80; ++index) {
      const Interval& around = random() % 2 == 0 ? intervals.back() : intervals.front();
      const std::uint64_t begin = std::max(free_from, around.begin.value) + random() % 4;
      const std::uint64_t end = std::min(around.end.value, begin + random() % 30);
      if (begin >= end) continue;
      if (&around == &intervals.front()) free_from = end;
      intervals.push_back({{begin}, {end}, index, index});
    }
    expect_agreement_with_a_search(intervals);
  }
}

}  // namespace
}  // namespace swipr::symbolize
