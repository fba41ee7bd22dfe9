#include <gtest/gtest.h>

#include "cli/profile/recording/recording.h"

namespace swipr::profile {
namespace {

using namespace std::chrono_literals;

Sample sample(std::uint32_t thread, State state, std::chrono::nanoseconds cpu,
              std::chrono::nanoseconds wall) {
  Sample made;
  made.thread = thread;
  made.stack = 0;
  made.state = state;
  made.cpu = cpu;
  made.wall = wall;
  return made;
}

Recording recording_of(std::vector<Sample> samples) {
  Recording recording;
  recording.stacks.resize(1);
  recording.threads.resize(2);
  recording.samples = std::move(samples);
  return recording;
}

TEST(CreditCpu, WhatAThreadUsedBetweenWaitsBelongsToItsNextRunningStack) {
  Recording recording =
      recording_of({sample(0, State::kBlocked, 2ms, 10ms), sample(0, State::kBlocked, 3ms, 10ms),
                    sample(0, State::kRunning, 4ms, 10ms)});
  credit_cpu(recording);
  EXPECT_EQ(recording.samples[0].cpu, 0ms);
  EXPECT_EQ(recording.samples[0].wall, 8ms);
  EXPECT_EQ(recording.samples[1].wall, 7ms);
  EXPECT_EQ(recording.samples[2].cpu, 9ms);
  EXPECT_EQ(recording.samples[2].wall, 15ms);
  EXPECT_EQ(weight_of(recording.samples[0], Weight::kBlocked), 8'000'000u);
  EXPECT_EQ(weight_of(recording.samples[2], Weight::kBlocked), 6'000'000u);
}

TEST(CreditCpu, SamplesStayLaidEndToEnd) {
  Recording recording =
      recording_of({sample(0, State::kBlocked, 2ms, 10ms), sample(0, State::kRunning, 4ms, 10ms)});
  recording.samples[0].time = 10ms;
  recording.samples[1].time = 20ms;
  credit_cpu(recording);
  EXPECT_EQ(recording.samples[0].begin(), 0ms);
  EXPECT_EQ(recording.samples[1].begin(), 10ms);
}

TEST(CreditCpu, OneThatWaitsForACpuHasUsedItElsewhere) {
  Recording recording =
      recording_of({sample(0, State::kRunnable, 2ms, 10ms), sample(0, State::kRunning, 4ms, 10ms)});
  credit_cpu(recording);
  EXPECT_EQ(recording.samples[0].cpu, 0ms);
  EXPECT_EQ(recording.samples[1].cpu, 6ms);
}

TEST(CreditCpu, ThreadsKeepTheirOwn) {
  Recording recording =
      recording_of({sample(0, State::kBlocked, 2ms, 10ms), sample(1, State::kRunning, 4ms, 10ms)});
  credit_cpu(recording);
  EXPECT_EQ(recording.samples[0].cpu, 2ms);
  EXPECT_EQ(recording.samples[1].cpu, 4ms);
}

TEST(CreditCpu, WithoutARunningSampleLaterItStays) {
  Recording recording =
      recording_of({sample(0, State::kRunning, 4ms, 10ms), sample(0, State::kBlocked, 2ms, 10ms)});
  credit_cpu(recording);
  EXPECT_EQ(recording.samples[0].cpu, 4ms);
  EXPECT_EQ(recording.samples[1].cpu, 2ms);
}

TEST(CreditCpu, ASampleWithoutAStackGetsNothing) {
  Recording recording =
      recording_of({sample(0, State::kBlocked, 2ms, 10ms), sample(0, State::kRunning, 4ms, 10ms)});
  recording.samples[1].stack = kNone;
  credit_cpu(recording);
  EXPECT_EQ(recording.samples[0].cpu, 2ms);
}

}  // namespace
}  // namespace swipr::profile
