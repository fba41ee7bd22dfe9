#include "cli/live/window.h"

#include <gtest/gtest.h>

namespace swipr::live {
namespace {

using namespace std::chrono_literals;
using profile::Sample;
using profile::State;
using std::chrono::nanoseconds;

Sample sample_at(nanoseconds end, std::uint32_t stack, nanoseconds wall, nanoseconds cpu) {
  return {100s + end, 0, stack, cpu > 0ns ? State::kRunning : State::kBlocked, 1, cpu, 0ns, wall};
}

nanoseconds total(const std::vector<Sample>& samples, nanoseconds Sample::*member) {
  nanoseconds sum{0};
  for (const Sample& sample : samples) sum += sample.*member;
  return sum;
}

TEST(LiveWindow, SumsEqualSamplesAndForgetsWhatIsOlder) {
  Window window;
  for (int tick = 1; tick <= 300; ++tick) {
    const Sample sample = sample_at(tick * 10ms, tick <= 150 ? 1 : 2, 10ms, 5ms);
    window.add({&sample, 1});
  }
  EXPECT_EQ(window.sum(60).size(), 2u);
  EXPECT_EQ(total(window.sum(60), &Sample::cpu), 1500ms);
  const auto last = window.sum(1);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].stack, 2u);
  EXPECT_EQ(last[0].cpu, 500ms);
  EXPECT_EQ(last[0].ticks, 100u);
  EXPECT_EQ(window.covered(1), 1s);
  EXPECT_EQ(window.covered(60), 3s);
}

TEST(LiveWindow, DividesALongWaitAmongItsSeconds) {
  Window window;
  const Sample first = sample_at(500ms, 1, 500ms, 0ns);
  const Sample wait = sample_at(10'500ms, 2, 10s, 0ns);
  window.add({&first, 1});
  window.add({&wait, 1});
  EXPECT_EQ(total(window.sum(60), &Sample::wall), 10'500ms);
  EXPECT_EQ(total(window.sum(1), &Sample::wall), 500ms);
  EXPECT_EQ(total(window.sum(5), &Sample::wall), 4'500ms);
  EXPECT_EQ(window.cpu_per_second(60).size(), 11u);
}

TEST(LiveWindow, TakesSamplesThatComeLate) {
  Window window;
  const Sample early = sample_at(100ms, 1, 100ms, 100ms);
  const Sample late = sample_at(5s, 2, 100ms, 100ms);
  const Sample between = sample_at(3s, 3, 100ms, 100ms);
  for (const Sample* sample : {&early, &late, &between}) window.add({sample, 1});
  EXPECT_EQ(window.sum(2).size(), 1u);
  EXPECT_EQ(window.sum(3).size(), 2u);
}

TEST(LiveWindow, HasBoundsInTimeAndInSums) {
  Window window;
  for (std::uint32_t stack = 0; stack < Window::kMaxSumsPerSecond + 10; ++stack) {
    const Sample sample = sample_at(10ms, stack, 10ms, 5ms);
    window.add({&sample, 1});
  }
  EXPECT_EQ(window.left_out(), 10u);
  EXPECT_EQ(window.sum(1).size(), Window::kMaxSumsPerSecond);
  const Sample much_later = sample_at(1'000h, 1, 900h, 900h);
  window.add({&much_later, 1});
  EXPECT_EQ(window.cpu_per_second(1'000).size(), Window::kMaxSeconds);
  EXPECT_EQ(window.covered(1'000), 60s);
  EXPECT_EQ(total(window.sum(60), &Sample::wall), 60s);
}

TEST(LiveWindow, PutsWaitingSamplesFirst) {
  Window window;
  const Sample runs = sample_at(10ms, 1, 10ms, 5ms);
  const Sample waits = sample_at(20ms, 2, 10ms, 0ns);
  window.add({&runs, 1});
  window.add({&waits, 1});
  EXPECT_EQ(window.sum(1).front().state, State::kBlocked);
}

}  // namespace
}  // namespace swipr::live
