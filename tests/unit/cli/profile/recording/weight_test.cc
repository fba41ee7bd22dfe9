#include <gtest/gtest.h>

#include <chrono>

#include "cli/profile/recording/recording.h"

namespace swipr::profile {
namespace {

using namespace std::chrono_literals;

TEST(WeightOf, CountsTicksOrNanoseconds) {
  const Sample sample{0ns, 0, 0, State::kBlocked, 4, 10ns, 20ns, 100ns};
  EXPECT_EQ(weight_of(sample, Weight::kSamples), 4u);
  EXPECT_EQ(weight_of(sample, Weight::kCpu), 10u);
  EXPECT_EQ(weight_of(sample, Weight::kRunqueue), 20u);
  EXPECT_EQ(weight_of(sample, Weight::kWall), 100u);
  EXPECT_EQ(weight_of(sample, Weight::kBlocked), 70u);
}

TEST(WeightOf, IsNeverNegative) {
  const Sample sample{0ns, 0, 0, State::kRunning, 1, 11ns, 0ns, 10ns};
  EXPECT_EQ(weight_of(sample, Weight::kBlocked), 0u);
}

TEST(WeightOf, CallsNothingBlockedWithoutClocks) {
  Sample sample{0ns, 0, 0, State::kUnknown, 1, 0ns, 0ns, 10ns};
  EXPECT_EQ(weight_of(sample, Weight::kBlocked), 10u);
  sample.has_clocks = false;
  EXPECT_EQ(weight_of(sample, Weight::kBlocked), 0u);
}

TEST(NaturalWeight, IsBlockedTimeWhereNoCpuTimeWasRecorded) {
  Recording recording;
  EXPECT_EQ(natural_weight(recording), Weight::kCpu);
  recording.processes.emplace_back().mode = Mode::kOffCpu;
  EXPECT_EQ(natural_weight(recording), Weight::kBlocked);
  recording.processes.emplace_back();
  EXPECT_EQ(natural_weight(recording), Weight::kCpu);
}

TEST(NaturalWeight, IsTheTimeOfTheStatesThatAreThere) {
  Recording recording;
  recording.samples.emplace_back().state = State::kRunnable;
  EXPECT_EQ(natural_weight(recording), Weight::kRunqueue);
  recording.samples.emplace_back().state = State::kBlocked;
  EXPECT_EQ(natural_weight(recording), Weight::kBlocked);
  recording.samples.emplace_back().state = State::kRunning;
  EXPECT_EQ(natural_weight(recording), Weight::kCpu);
}

TEST(NaturalWeight, IsSamplesWhereNothingIsTimed) {
  Recording recording;
  recording.samples.emplace_back().state = State::kUnknown;
  EXPECT_EQ(natural_weight(recording), Weight::kSamples);
  recording.samples.emplace_back().state = State::kRunning;
  EXPECT_EQ(natural_weight(recording), Weight::kCpu);
}

TEST(KeepStates, LeavesOnlySamplesOfTheseStates) {
  Recording recording;
  for (State state : {State::kRunning, State::kBlocked, State::kUnknown, State::kRunnable}) {
    Sample sample;
    sample.state = state;
    recording.samples.push_back(sample);
  }
  keep_states(recording, {});
  EXPECT_EQ(recording.samples.size(), 4u);
  StateSet states;
  states.add(State::kBlocked);
  states.add(State::kRunnable);
  keep_states(recording, states);
  ASSERT_EQ(recording.samples.size(), 2u);
  EXPECT_EQ(recording.samples[0].state, State::kBlocked);
  EXPECT_EQ(recording.samples[1].state, State::kRunnable);
}

}  // namespace
}  // namespace swipr::profile
