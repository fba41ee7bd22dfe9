#include "preload/agent/record/accounts/burst_weight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "preload/agent/base/random.h"

namespace swipr::agent {
namespace {

constexpr std::int64_t kTickNs = 1'000'000;
constexpr int kBurstTicks = 400'000;

struct BurstShares {
  double first = 0;  // of the weights, in the first 70 % of the burst
  double samples = 0;
  double all_over_cpu = 0;
};

// One tick at a random time of each interval, and what it finds of a thread that runs for
// `burst_ns` at the beginning of each period.
BurstShares sample_bursts(std::int64_t burst_ns, std::int64_t period_ns) {
  Random random(59);
  BurstShares result;
  std::int64_t written_ns = 0;
  std::int64_t met_ns = 0;
  double first = 0;
  for (std::int64_t tick = 0; tick < kBurstTicks; ++tick) {
    const std::int64_t time_ns = tick * kTickNs + random.below(kTickNs);
    const std::int64_t phase_ns = time_ns % period_ns;
    if (phase_ns >= burst_ns) continue;
    const std::int64_t cpu_ns = time_ns / period_ns * burst_ns + phase_ns;
    const std::int64_t left_ns = std::max<std::int64_t>(met_ns - written_ns, 0);
    const std::int64_t weight_ns = burst_weight_ns(kTickNs, left_ns, cpu_ns - written_ns);
    EXPECT_GE(weight_ns, 0);
    if (phase_ns < burst_ns * 7 / 10) first += static_cast<double>(weight_ns);
    written_ns += weight_ns;
    met_ns = cpu_ns;
    result.samples += 1;
  }
  result.first = first / static_cast<double>(written_ns);
  result.all_over_cpu = static_cast<double>(written_ns) / static_cast<double>(met_ns);
  return result;
}

void expect_true_shares(std::int64_t burst_ns, std::int64_t period_ns) {
  const BurstShares shares = sample_bursts(burst_ns, period_ns);
  EXPECT_NEAR(shares.first, 0.7, 4 * std::sqrt(0.7 * 0.3 / shares.samples));
  EXPECT_NEAR(shares.all_over_cpu, 1, 0.001);
}

TEST(BurstWeight, DoesNotDependOnThePhaseOfBurstsShorterThanTheInterval) {
  expect_true_shares(500'000, 1'000'000);
  expect_true_shares(100'000, 1'000'000);
}

TEST(BurstWeight, DoesNotDependOnThePhaseOfBurstsAsLongAsTheIntervalOrLonger) {
  expect_true_shares(1'000'000, 4'000'000);
  expect_true_shares(2'000'000, 10'000'000);
  expect_true_shares(7'000'000, 10'000'000);
}

TEST(BurstWeight, IsNeverMoreThanTheTimeUsed) {
  EXPECT_EQ(burst_weight_ns(kTickNs, 0, 0), 0);
  EXPECT_EQ(burst_weight_ns(kTickNs, 100 * kTickNs, 3), 3);
}

// Where ticks find a burst for every third interval of CPU time only.
TEST(BurstWeight, GrowsWhereTicksFindFewBursts) {
  std::int64_t written_ns = 0;
  std::int64_t met_ns = 0;
  for (int sample = 1; sample <= 100; ++sample) {
    const std::int64_t cpu_ns = 3 * kTickNs * sample;
    written_ns += burst_weight_ns(kTickNs, std::max<std::int64_t>(met_ns - written_ns, 0),
                                  cpu_ns - written_ns);
    met_ns = cpu_ns;
  }
  EXPECT_LE(met_ns - written_ns, 10 * kTickNs);
}

}  // namespace
}  // namespace swipr::agent
