#include "cli/profile/tables/unwinder_comparison.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace swipr::profile {
namespace {

NamedFrame named(std::string_view function) {
  NamedFrame frame;
  frame.function = function;
  return frame;
}

// Functions are called as their addresses: 1 is "f1".
class ComparisonTest : public testing::Test {
 protected:
  ComparisonTest() {
    static constexpr std::string_view kNames[] = {"f0", "f1", "f2", "f3", "f4"};
    for (std::uint64_t number = 0; number < std::size(kNames); ++number) {
      recording_.frames.push_back({.pc = RuntimeAddr{number}});
      names_.frames.push_back({named("inlined"), named(kNames[number])});
    }
    // The same address, exact.
    recording_.frames.push_back({.pc = RuntimeAddr{2}, .kind = PcKind::kExact});
    names_.frames.push_back({named("f2")});
    recording_.processes.push_back({});
  }
  static constexpr std::uint32_t kExactTwo = 5;

  std::uint32_t stack(std::vector<std::uint32_t> frames) {
    recording_.stacks.push_back({.frames = std::move(frames)});
    return static_cast<std::uint32_t>(recording_.stacks.size() - 1);
  }
  void differ(std::vector<std::uint32_t> own, std::vector<std::uint32_t> other,
              std::uint64_t count) {
    const std::uint32_t first = stack(std::move(own));
    recording_.differences.push_back({0, first, stack(std::move(other)), count});
  }
  UnwinderComparison compare() const { return compare_unwinders(recording_, names_); }

  Recording recording_;
  Names names_;
};

TEST_F(ComparisonTest, AddsProcessesUp) {
  recording_.processes[0].totals = {{"stacks_compared", 10}, {"stacks_equal", 9}};
  recording_.processes.push_back({});
  recording_.processes[1].totals = {{"stacks_compared", 5}, {"differences_left_out", 2}};
  const UnwinderComparison sum = compare();
  EXPECT_EQ(sum.compared, 15u);
  EXPECT_EQ(sum.equal, 9u);
  EXPECT_EQ(sum.left_out, 2u);
  EXPECT_FALSE(sum.unwinder_is_missing);
  recording_.processes[1].totals["unwinder_missing"] = 1;
  EXPECT_TRUE(compare().unwinder_is_missing);
}

TEST_F(ComparisonTest, TellsWhoEndsEarlier) {
  differ({1, 2, 3}, {1, 2}, 4);
  differ({1}, {1, 2}, 3);
  differ({1, 2, 3}, {1, 4}, 2);
  const UnwinderComparison sum = compare();
  EXPECT_EQ(sum.other_ends_early, 4u);
  EXPECT_EQ(sum.own_ends_early, 3u);
  EXPECT_EQ(sum.different, 2u);
}

TEST_F(ComparisonTest, NamesTheFirstCallersThatDifferMostFrequentFirst) {
  differ({1, 2, 3}, {1, 2}, 1);
  differ({0, 2, 3, 4}, {0, 2}, 2);  // elsewhere, of the same kind
  differ({1, 2, 3}, {1, 4, 3}, 5);
  const UnwinderComparison sum = compare();
  ASSERT_EQ(sum.differences.size(), 2u);
  EXPECT_EQ(sum.differences[0].count, 5u);
  EXPECT_EQ(sum.differences[0].after, "f1");
  EXPECT_EQ(sum.differences[0].own, "f2");
  EXPECT_EQ(sum.differences[0].other, "f4");
  EXPECT_EQ(sum.differences[1].count, 3u);
  EXPECT_EQ(sum.differences[1].after, "f2");
  EXPECT_EQ(sum.differences[1].own, "f3");
  EXPECT_EQ(sum.differences[1].other, "");
}

TEST_F(ComparisonTest, TakesFramesOfOneAddressForOne) {
  differ({1, 2, 3}, {1, kExactTwo, 4}, 1);
  ASSERT_EQ(compare().differences.size(), 1u);
  EXPECT_EQ(compare().differences[0].after, "f2");
}

TEST_F(ComparisonTest, KnowsStacksWithoutACommonFrame) {
  differ({1}, {2}, 1);
  EXPECT_EQ(compare().differences[0].after, "");
}

}  // namespace
}  // namespace swipr::profile
