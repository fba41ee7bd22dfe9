#include "cli/trace/modes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/unit/cli/trace/calls.h"

namespace swipr::tracing {
namespace {

struct Way {
  double median;  // ns
  double spread;  // sigma of the logarithm
  int calls;
};

Durations mixture(const std::vector<Way>& ways, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> values;
  for (const Way& way : ways) {
    std::lognormal_distribution<double> lognormal(std::log(way.median), way.spread);
    for (int call = 0; call < way.calls; ++call) {
      values.push_back(static_cast<std::uint64_t>(lognormal(random)));
    }
  }
  return calls_of(values);
}

TEST(Modes, OfNoCallsAreNone) { EXPECT_TRUE(find_modes({}).empty()); }

TEST(Modes, OfOneCallAreOne) {
  const auto modes = find_modes(calls_of({1000}));
  ASSERT_EQ(modes.size(), 1u);
  EXPECT_NEAR(static_cast<double>(modes[0].peak.count()), 1000, 30);
  EXPECT_EQ(modes[0].share, 1);
}

TEST(Modes, OneStaysOne) {
  for (const int calls : {2, 5, 10, 30, 100, 1000, 10'000}) {
    for (const double spread : {0.01, 0.1, 0.5, 1.5}) {
      for (unsigned seed = 0; seed < 20; ++seed) {
        const auto modes = find_modes(mixture({{50'000, spread, calls}}, seed));
        EXPECT_EQ(modes.size(), 1u) << calls << " calls, spread " << spread << ", seed " << seed;
      }
    }
  }
}

TEST(Modes, TwoAreFoundWithTheirShares) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto modes = find_modes(mixture({{800'000, 0.1, 9300}, {4'100'000, 0.2, 700}}, seed));
    ASSERT_EQ(modes.size(), 2u) << seed;
    EXPECT_NEAR(static_cast<double>(modes[0].peak.count()), 800'000, 40'000);
    EXPECT_NEAR(static_cast<double>(modes[1].peak.count()), 4'100'000, 400'000);
    EXPECT_NEAR(modes[0].share, 0.93, 0.005);
    EXPECT_NEAR(modes[1].share, 0.07, 0.005);
  }
}

TEST(Modes, AWideSlowWayBesideANarrowFastOneIsFound) {
  // Its peak has 2 % of the height of the other one.
  const auto modes = find_modes(mixture({{1'000, 0.05, 90'000}, {100'000, 0.5, 10'000}}, 1));
  ASSERT_EQ(modes.size(), 2u);
  EXPECT_NEAR(modes[1].share, 0.1, 0.01);
}

TEST(Modes, ThreeAreFound) {
  const auto modes =
      find_modes(mixture({{100, 0.1, 3000}, {1000, 0.1, 3000}, {3000, 0.1, 3000}}, 2));
  EXPECT_EQ(modes.size(), 3u);
}

TEST(Modes, NoiseMakesNone) {
  // Even on the logarithmic axis: nothing but chance makes peaks.
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> octaves(10, 20);
    for (const int calls : {20, 200, 2000, 20'000}) {
      std::vector<std::uint64_t> values;
      for (int call = 0; call < calls; ++call) {
        values.push_back(static_cast<std::uint64_t>(std::exp2(octaves(random))));
      }
      EXPECT_EQ(find_modes(calls_of(values)).size(), 1u) << calls << " calls, seed " << seed;
    }
  }
}

TEST(Modes, AShallowValleyIsNone) {
  // 5 % lower than the peaks: so many calls make it certain, and it still means nothing.
  EXPECT_EQ(find_modes(mixture({{1000, 0.2, 200'000}, {1584, 0.2, 200'000}}, 3)).size(), 1u);
}

TEST(Modes, StepsOfAClockAreNone) {
  // A clock of 3 GHz that counts in steps of 10 cycles.
  std::mt19937_64 random(9);
  std::vector<std::uint64_t> values;
  std::normal_distribution<double> cycles(90, 20);
  for (int call = 0; call < 100'000; ++call) {
    const double steps = std::round(std::max(cycles(random), 20.0) / 10);
    values.push_back(static_cast<std::uint64_t>(steps * 10 / 3));
  }
  EXPECT_EQ(find_modes(calls_of(values)).size(), 1u);
}

TEST(Modes, AHandfulOfSlowCallsIsNoWay) {
  std::vector<std::uint64_t> values(10'000, 1000);
  values.resize(10'050, 1'000'000);  // 0.5 %
  EXPECT_EQ(find_modes(calls_of(values)).size(), 1u);
}

TEST(Modes, SurviveHostileNumbers) {
  Durations durations;
  for (std::size_t bucket = 0; bucket < kBucketCount; ++bucket) {
    durations.add_bucket(bucket, bucket % 3 == 0 ? ~std::uint64_t{0} : bucket);
  }
  for (const Mode& mode : find_modes(durations)) {
    EXPECT_GE(mode.peak.count(), 0);
    EXPECT_LE(mode.share, 1);
  }
}

}  // namespace
}  // namespace swipr::tracing
