#include "preload/agent/record/schedule.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace swipr::agent {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr Moment kStart = 1000s;

std::vector<Moment> deadlines(const RecordingRequest& request, std::uint64_t seed,
                              std::size_t limit = 100'000) {
  Schedule schedule;
  schedule.start(request, kStart, seed);
  std::vector<Moment> result;
  while (schedule.next() != kNever && result.size() < limit) {
    result.push_back(schedule.next());
    EXPECT_EQ(schedule.pass(schedule.next()), 1u);
  }
  return result;
}

TEST(Schedule, WithoutJitterIsAGrid) {
  const auto times = deadlines({.interval = 10ms, .ticks = 5, .jitter = false}, 1);
  ASSERT_EQ(times.size(), 5u);
  for (std::size_t at = 0; at < times.size(); ++at) {
    EXPECT_EQ(times[at], kStart + 10ms * (static_cast<int>(at) + 1));
  }
}

TEST(Schedule, HasAsManyTicksAsAskedBeforeTheGridEnds) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto counted = deadlines({.interval = 10ms, .ticks = 100}, seed);
    ASSERT_EQ(counted.size(), 100u);
    EXPECT_LE(counted.back(), kStart + 1s);
    const auto timed = deadlines({.interval = 10ms, .duration = 1005ms}, seed);
    ASSERT_EQ(timed.size(), 100u);
    EXPECT_LE(timed.back(), kStart + 1s);
    EXPECT_EQ(deadlines({.interval = 10ms, .ticks = 7, .duration = 1s}, seed).size(), 7u);
  }
  EXPECT_TRUE(deadlines({.interval = 10ms, .duration = 9ms}, 1).empty());
}

TEST(Schedule, StaysNearTheGridWithDistancesAroundOneInterval) {
  const auto times = deadlines({.interval = 10ms}, 4711);
  double drift_squares = 0;
  Moment before = kStart;
  int close = 0;
  for (std::size_t at = 0; at < times.size(); ++at) {
    const double drift =
        static_cast<double>((times[at] - kStart).count()) / 1e7 - static_cast<double>(at + 1);
    EXPECT_LT(std::abs(drift), 4.0);
    drift_squares += drift * drift;
    ASSERT_GT(times[at], before);
    EXPECT_LT(times[at] - before, 20ms);
    close += times[at] - before < 5ms - 2ms ? 1 : 0;
    before = times[at];
  }
  // 1/12 / (1 - 49/64), by the variance of the uniform distribution.
  EXPECT_NEAR(drift_squares / static_cast<double>(times.size()), 0.356, 0.03);
  EXPECT_LT(close, static_cast<int>(times.size() / 100));
}

TEST(Schedule, DiffersFromSeedToSeed) {
  EXPECT_NE(deadlines({.interval = 10ms, .ticks = 3}, 1),
            deadlines({.interval = 10ms, .ticks = 3}, 2));
}

TEST(Schedule, PassesWhatALongPauseLeftBehind) {
  for (const bool jitter : {false, true}) {
    Schedule schedule;
    schedule.start({.interval = 100us, .jitter = jitter}, kStart, 1);
    const std::uint64_t passed = schedule.pass(kStart + 1h);
    EXPECT_NEAR(static_cast<double>(passed), 36e6, 5);
    EXPECT_GT(schedule.next(), kStart + 1h);
    EXPECT_LT(schedule.next(), kStart + 1h + 1ms);
    schedule.start({.interval = 100us, .ticks = 1000, .jitter = jitter}, kStart, 1);
    EXPECT_EQ(schedule.pass(kStart + 1h), 1000u);
    EXPECT_EQ(schedule.next(), kNever);
    EXPECT_TRUE(schedule.has_passed_all());
  }
}

// A program of three functions, 70 %, 20 % and 10 % of each of its periods. Shares by number of
// samples and by the time between two samples, in percent.
struct Shares {
  std::array<double, 3> samples{};
  std::array<double, 3> time{};
};
Shares shares_of(nanoseconds period, const std::vector<Moment>& times) {
  Shares shares;
  Moment before = kStart;
  for (const Moment time : times) {
    const double phase =
        static_cast<double>((time % period).count()) / static_cast<double>(period.count());
    const std::size_t function = phase < 0.7 ? 0 : phase < 0.9 ? 1 : 2;
    shares.samples[function] += 100.0 / static_cast<double>(times.size());
    shares.time[function] += 100.0 * static_cast<double>((time - before).count()) /
                             static_cast<double>((times.back() - kStart).count());
    before = time;
  }
  return shares;
}

// 100,000 ticks: the standard error of a share is 0.15 points, up to 0.2 if phases are correlated.
TEST(Schedule, DoesNotFallIntoStepWithAnyPeriod) {
  constexpr std::array<double, 3> kTruth{70, 20, 10};
  for (const nanoseconds interval : {nanoseconds(1ms), nanoseconds(5ms), nanoseconds(10ms),
                                     nanoseconds(20ms), nanoseconds(100ms)}) {
    const auto times = deadlines({.interval = interval}, 42);
    for (const nanoseconds period :
         {nanoseconds(1ms), nanoseconds(2ms), nanoseconds(4ms), nanoseconds(5ms), nanoseconds(10ms),
          nanoseconds(16'667us), nanoseconds(20ms), nanoseconds(50ms), nanoseconds(100ms)}) {
      const Shares shares = shares_of(period, times);
      for (std::size_t function = 0; function < kTruth.size(); ++function) {
        EXPECT_NEAR(shares.samples[function], kTruth[function], 1.2)
            << interval.count() << " " << period.count();
        EXPECT_NEAR(shares.time[function], kTruth[function], 1.2)
            << interval.count() << " " << period.count();
      }
    }
  }
  const Shares locked = shares_of(10ms, deadlines({.interval = 10ms, .jitter = false}, 1));
  EXPECT_NEAR(locked.samples[0], 100, 0.1) << "what the test is for";
}

}  // namespace
}  // namespace swipr::agent
