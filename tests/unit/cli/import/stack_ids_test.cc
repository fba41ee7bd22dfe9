#include "cli/import/stack_ids.h"

#include <gtest/gtest.h>

#include <limits>

namespace swipr::importers {
namespace {

TEST(StackIds, KnowNothingAtFirstAndAfterClear) {
  StackIds ids;
  EXPECT_EQ(ids.find(0), profile::kNone);
  EXPECT_EQ(ids.find(1), profile::kNone);
  ids.define(1, 7);
  ids.define(1'000'000, 8);
  ids.clear();
  EXPECT_EQ(ids.find(1), profile::kNone);
  EXPECT_EQ(ids.find(1'000'000), profile::kNone);
}

TEST(StackIds, MeanWhatWasDefinedLast) {
  StackIds ids;
  for (std::uint32_t id = 1; id <= 10'000; ++id) ids.define(id, id + 1);
  ids.define(5000, 3);
  EXPECT_EQ(ids.find(4999), 5000u);
  EXPECT_EQ(ids.find(5000), 3u);
  EXPECT_EQ(ids.find(10'001), profile::kNone);
}

TEST(StackIds, MayBeAnyNumbers) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  StackIds ids;
  ids.define(kLargest, 1);
  ids.define(2000, 2);  // far above the previous ids, until there are many
  EXPECT_EQ(ids.find(kLargest), 1u);
  for (std::uint32_t id = 1; id < 2000; ++id) ids.define(id, 3);
  EXPECT_EQ(ids.find(2000), 2u);
  ids.define(2100, 4);  // the array now extends beyond 2000
  EXPECT_EQ(ids.find(2000), 2u);
  ids.define(2000, 5);
  EXPECT_EQ(ids.find(2000), 5u);
}

}  // namespace
}  // namespace swipr::importers
