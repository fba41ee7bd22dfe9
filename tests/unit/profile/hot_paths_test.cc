#include "cli/profile/hot_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/profile/wait_times.h"
#include "tests/golden/golden_recording.h"

namespace swipr::profile {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

std::vector<std::string> lines_of(const HotPaths& paths) {
  std::vector<std::string> lines;
  for (const PathNode& node : paths.nodes) {
    lines.push_back(std::string(node.depth, '>') + node.function + " " +
                    std::to_string(node.total) + "/" + std::to_string(node.self));
  }
  return lines;
}

std::string no_state(State, std::uint32_t) { return {}; }

constexpr const char* kBurn = "(anonymous namespace)::burn(std::vector<int> const&)";

TEST(HotPaths, AreTheHeaviestPartOfTheTree) {
  const golden::Golden input = golden::make_golden();
  const HotPaths paths = hot_paths(input.recording, input.names, Weight::kSamples, no_state, 5);
  EXPECT_THAT(lines_of(paths),
              ElementsAre("_start 58/0", ">main 58/0", ">>Handle<Job>::operator->() const 55/0",
                          ">>>__poll 55/55", ">>" + std::string(kBurn) + " 2/0"));
  EXPECT_EQ(paths.left_out, 10u);
}

TEST(HotPaths, EndInWhatThreadsWaitIn) {
  const golden::Golden input = golden::make_golden();
  const auto wait = [](State state, std::uint32_t) {
    return std::string(state == State::kBlocked ? "[wait]" : "");
  };
  const HotPaths paths = hot_paths(input.recording, input.names, Weight::kBlocked, wait, 5);
  EXPECT_EQ(lines_of(paths).back(), ">>>>[wait] 550000000/550000000");
}

TEST(HotPaths, LeaveOutWhatWeighsNothing) {
  const golden::Golden input = golden::make_golden();
  const HotPaths paths = hot_paths(input.recording, input.names, Weight::kCpu, no_state, 1000);
  for (const PathNode& node : paths.nodes) EXPECT_GT(node.total, 0u) << node.function;
  EXPECT_EQ(paths.left_out, 0u);
}

TEST(WaitTimes, SumUpEachSystemCall) {
  const auto waits = wait_times(golden::make_golden().recording);
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0].syscall, 7u);
  EXPECT_EQ(waits[0].blocked, 550ms);
  EXPECT_EQ(waits[0].samples, 55u);
  EXPECT_EQ(waits[0].threads, 2u);
  EXPECT_EQ(waits[1].syscall, kNone);
  EXPECT_EQ(waits[1].blocked, 10ms);
}

TEST(WaitTimes, TellOneCallsPlacesInTheKernelApart) {
  Recording recording = golden::make_golden().recording;
  Stack other = *std::find_if(recording.stacks.begin(), recording.stacks.end(),
                              [](const Stack& stack) { return stack.wait_syscall == 7; });
  other.wait_channel = "do_poll";
  recording.stacks.push_back(other);
  Sample sample = recording.samples.front();
  sample.state = State::kBlocked;
  sample.stack = static_cast<std::uint32_t>(recording.stacks.size() - 1);
  recording.samples.push_back(sample);
  const auto waits = wait_times(recording);
  ASSERT_EQ(waits.size(), 3u);
  const auto found = std::find_if(waits.begin(), waits.end(),
                                  [](const WaitTimes& times) { return !times.channel.empty(); });
  ASSERT_NE(found, waits.end());
  EXPECT_EQ(found->syscall, 7u);
  EXPECT_EQ(found->channel, "do_poll");
  EXPECT_EQ(found->threads, 1u);
}

}  // namespace
}  // namespace swipr::profile
