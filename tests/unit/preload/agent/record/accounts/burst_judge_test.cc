#include "preload/agent/record/accounts/burst_judge.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "preload/agent/base/random.h"

namespace swipr::agent {
namespace {

constexpr std::int64_t kIntervalNs = 10'000'000;

// Samples a thread that uses a fifth of a CPU; ticks find `percent` of the expected number.
int looks_left_to_timer(int percent, int looks, std::uint64_t seed = 1) {
  BurstJudge judge;
  Random random(seed);
  int left = 0;
  for (int look = 0; look < looks; ++look) {
    judge.look(kIntervalNs / 5 * look, kIntervalNs);
    if (judge.is_left_to_timer()) {
      ++left;
    } else if (random.below(500) < percent) {
      judge.note_met();
    }
  }
  return left;
}

TEST(BurstJudge, LetsTicksJudgeWhereTheyFindTheThreadAtWork) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    EXPECT_LT(looks_left_to_timer(100, 20'000, seed), 2000) << seed;
  }
}

TEST(BurstJudge, LeavesBurstsToTheTimerThatTicksNeverFind) {
  // 8 intervals of CPU time in 40 ticks, then 128 in 640, and more from then on.
  EXPECT_GT(looks_left_to_timer(0, 20'000), 20'000 * 8 / 10);
}

TEST(BurstJudge, LeavesBurstsToTheTimerThatTicksFindTooSeldomOrTooOften) {
  EXPECT_GT(looks_left_to_timer(50, 20'000), 20'000 / 2);
  EXPECT_GT(looks_left_to_timer(200, 20'000), 20'000 / 2);
}

TEST(BurstJudge, LeavesBurstsToTheTimerThatAreAsShortAsASignalsWay) {
  for (const std::int64_t burst_ns : {40'000, 100'000}) {
    BurstJudge judge;
    int left = 0;
    for (int look = 0; look < 100; ++look) {
      const std::int64_t cpu_ns = kIntervalNs * look;
      judge.look(cpu_ns, kIntervalNs);
      judge.note_slices(cpu_ns, static_cast<std::uint64_t>(7 + cpu_ns / burst_ns));
      judge.note_met();
      left += judge.is_left_to_timer() ? 1 : 0;
    }
    EXPECT_EQ(left > 0, burst_ns == 40'000) << burst_ns;
  }
}

TEST(BurstJudge, DoesNotCountWhatTheThreadUsedOutsideBursts) {
  for (const bool restarts : {false, true}) {
    BurstJudge judge;
    judge.look(0, kIntervalNs);
    if (restarts) judge.restart();
    judge.look(100 * kIntervalNs, kIntervalNs);
    EXPECT_NE(judge.is_left_to_timer(), restarts);
  }
}

TEST(BurstJudge, TriesTheTicksAgain) {
  BurstJudge judge;
  judge.look(0, kIntervalNs);
  judge.look(30 * kIntervalNs, kIntervalNs);
  EXPECT_TRUE(judge.is_left_to_timer());
  judge.look(157 * kIntervalNs, kIntervalNs);
  EXPECT_TRUE(judge.is_left_to_timer());
  judge.look(158 * kIntervalNs, kIntervalNs);
  EXPECT_FALSE(judge.is_left_to_timer());
}

}  // namespace
}  // namespace swipr::agent
