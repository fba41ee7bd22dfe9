#include "cli/live/credits.h"

#include <gtest/gtest.h>

namespace swipr::live {
namespace {

using namespace std::chrono_literals;
using profile::Sample;
using profile::State;
using std::chrono::nanoseconds;

Sample sample_at(nanoseconds time, State state, nanoseconds cpu, std::uint32_t thread = 0) {
  return {time, thread, 1, state, 1, cpu, 0ns, 10ms};
}

TEST(LiveCredits, MovesCpuTimeOfWaitsToTheNextRunningSample) {
  Credits credits;
  Sample wait = sample_at(10ms, State::kBlocked, 2ms);
  Sample other = sample_at(20ms, State::kRunning, 5ms, 1);
  Sample runs = sample_at(30ms, State::kRunning, 10ms);
  Sample later = sample_at(40ms, State::kRunning, 10ms);
  for (Sample* sample : {&wait, &other, &runs, &later}) credits.apply(*sample);
  EXPECT_EQ(wait.cpu, 0ns);
  EXPECT_EQ(wait.wall, 8ms);
  EXPECT_EQ(wait.begin(), 0ms);
  EXPECT_EQ(other.cpu, 5ms);
  EXPECT_EQ(runs.cpu, 12ms);
  EXPECT_EQ(runs.wall, 12ms);
  EXPECT_EQ(runs.begin(), 20ms);
  EXPECT_EQ(later.cpu, 10ms);
}

TEST(LiveCredits, GivesCpuTimeBackIfTheThreadIsNotFoundRunning) {
  Credits credits;
  nanoseconds sum{0};
  nanoseconds wall{0};
  for (int tick = 1; tick <= 3'000; ++tick) {
    Sample wait = sample_at(tick * 10ms, State::kBlocked, tick <= 10 ? 1ms : 0ms);
    credits.apply(wait);
    sum += wait.cpu;
    wall += wait.wall;
  }
  EXPECT_EQ(sum, 10ms);
  EXPECT_EQ(wall, 30s);
}

TEST(LiveCredits, LeavesSamplesWithoutStackAlone) {
  Credits credits;
  Sample wait = sample_at(10ms, State::kBlocked, 2ms);
  Sample none = sample_at(20ms, State::kRunning, 1ms);
  none.stack = profile::kNone;
  Sample runs = sample_at(30ms, State::kRunning, 10ms);
  for (Sample* sample : {&wait, &none, &runs}) credits.apply(*sample);
  EXPECT_EQ(none.cpu, 1ms);
  EXPECT_EQ(runs.cpu, 12ms);
}

}  // namespace
}  // namespace swipr::live
