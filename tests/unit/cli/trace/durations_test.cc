#include "cli/trace/durations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "cli/trace/time_axis.h"
#include "tests/unit/cli/trace/calls.h"

namespace swipr::tracing {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

TEST(Durations, OfNoCallsAreUnknown) {
  const Durations none;
  EXPECT_EQ(none.calls(), 0u);
  EXPECT_FALSE(none.quantile(0.5));
  EXPECT_FALSE(none.quantile(1));
  EXPECT_FALSE(none.mean());
}

TEST(Durations, OfOneCallAreKnownExactly) {
  const Durations one = calls_of({1'234'567});
  EXPECT_EQ(one.quantile(0.5), nanoseconds(1'234'567));  // not above the maximum
  EXPECT_EQ(one.quantile(1), nanoseconds(1'234'567));
  EXPECT_EQ(one.mean(), nanoseconds(1'234'567));
  EXPECT_FALSE(one.quantile(0.9)) << "no call is slower";
}

TEST(Durations, QuantilesAreWithinTheirErrorOfTheTrueOnes) {
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> lognormal(12, 1.5);
  std::vector<std::uint64_t> values;
  for (int call = 0; call < 20'000; ++call) {
    values.push_back(static_cast<std::uint64_t>(lognormal(random)) + 1);
  }
  const Durations durations = calls_of(values);
  std::sort(values.begin(), values.end());
  for (const QuantileName& quantile : kQuantiles) {
    const auto place = static_cast<std::size_t>(std::ceil(quantile.share * 20'000)) - 1;
    const auto exact = static_cast<double>(values[place]);
    const auto found = durations.quantile(quantile.share);
    ASSERT_TRUE(found) << quantile.name;
    EXPECT_NEAR(static_cast<double>(found->count()), exact, kRelativeError * exact)
        << quantile.name;
  }
}

TEST(Durations, AQuantileNeedsASlowerCall) {
  std::vector<std::uint64_t> values(999, 1000);
  EXPECT_FALSE(calls_of(values).quantile(0.999));
  values.resize(2000, 1000);
  EXPECT_TRUE(calls_of(values).quantile(0.999));
}

TEST(Durations, AddUp) {
  Durations all = calls_of({100, 200});
  all.add(calls_of({300}));
  EXPECT_EQ(all.calls(), 3u);
  EXPECT_EQ(all.mean(), nanoseconds(200));
  EXPECT_EQ(all.quantile(1), nanoseconds(300));
}

TEST(Durations, SurviveHostileNumbers) {
  Durations durations;
  EXPECT_FALSE(durations.add_bucket(kBucketCount, 1));
  EXPECT_FALSE(durations.add_bucket(kLargest, kLargest));
  EXPECT_TRUE(durations.add_bucket(kBucketCount - 1, kLargest));
  EXPECT_TRUE(durations.add_bucket(kBucketCount - 1, kLargest));
  EXPECT_TRUE(durations.add_bucket(0, kLargest));
  durations.add_totals({nanoseconds::max(), nanoseconds::max(), kLargest, kLargest});
  durations.add_totals({nanoseconds(-5), nanoseconds::min(), kLargest, kLargest});
  EXPECT_EQ(durations.calls(), kLargest);
  EXPECT_EQ(durations.totals().exceptions, kLargest);
  EXPECT_EQ(durations.totals().sum, nanoseconds::max());
  EXPECT_TRUE(durations.mean());
  EXPECT_TRUE(durations.quantile(0.5));
}

TEST(TimeAxis, HasRoundStepsAndAtMostSoManyRows) {
  const Durations durations = calls_of({900, 1000, 1100, 30'000});
  const Durations* const one[] = {&durations};
  const TimeAxis axis = make_time_axis(one, 8);
  ASSERT_LE(axis.begins.size(), 8u);
  EXPECT_LE(axis.begins.front(), nanoseconds(900));
  EXPECT_EQ(axis.begins, (std::vector<nanoseconds>{nanoseconds(500), nanoseconds(1000),
                                                   nanoseconds(2000), nanoseconds(5000),
                                                   nanoseconds(10'000), nanoseconds(20'000)}));
}

TEST(TimeAxis, IsNotStretchedByAnOutlier) {
  std::vector<std::uint64_t> values(100'000, 1000);
  values.push_back(10'000'000'000);
  const Durations durations = calls_of(values);
  const Durations* const one[] = {&durations};
  EXPECT_LE(make_time_axis(one, 16).begins.back(), nanoseconds(2000));
}

TEST(TimeAxis, SharesAddUpToAllCalls) {
  std::mt19937_64 random(6);
  std::lognormal_distribution<double> lognormal(8, 2);
  std::vector<std::uint64_t> values = {0, 1, 2, kLargest};
  for (int call = 0; call < 5000; ++call) {
    values.push_back(static_cast<std::uint64_t>(lognormal(random)));
  }
  const Durations durations = calls_of(values);
  const Durations* const one[] = {&durations};
  for (const std::size_t rows : {std::size_t{1}, std::size_t{4}, std::size_t{16}}) {
    const TimeAxis axis = make_time_axis(one, rows);
    double sum = 0;
    for (const double share : shares_of(durations, axis)) {
      EXPECT_GE(share, 0);
      sum += share;
    }
    EXPECT_NEAR(sum, 1, 1e-9);
  }
}

TEST(TimeAxis, OfNoCallsIsEmpty) {
  const Durations none;
  const Durations* const one[] = {&none};
  EXPECT_TRUE(make_time_axis(one, 16).begins.empty());
  EXPECT_TRUE(shares_of(none, {}).empty());
}

}  // namespace
}  // namespace swipr::tracing
