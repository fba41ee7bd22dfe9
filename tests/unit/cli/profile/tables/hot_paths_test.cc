#include "cli/profile/tables/hot_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/profile/tables/wait_times.h"
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
  EXPECT_EQ(paths.left_out, 8u);
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

// A recording of these stacks, outermost function first, one sample each.
golden::Golden recording_of(const std::vector<std::string>& stacks) {
  golden::Golden input;
  input.recording.processes.emplace_back();
  input.recording.threads.emplace_back();
  for (char name = 'a'; name <= 'z'; ++name) {
    input.recording.frames.emplace_back();
    static std::vector<std::string> texts;
    if (texts.empty()) {
      for (char each = 'a'; each <= 'z'; ++each) texts.emplace_back(1, each);
    }
    input.names.frames.emplace_back().emplace_back().function =
        texts[static_cast<std::size_t>(name - 'a')];
  }
  for (const std::string& names : stacks) {
    profile::Stack& stack = input.recording.stacks.emplace_back();
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      stack.frames.push_back(static_cast<std::uint32_t>(*name - 'a'));
    }
    input.recording.samples.push_back(
        {.thread = 0,
         .stack = static_cast<std::uint32_t>(input.recording.stacks.size() - 1),
         .state = State::kRunning});
  }
  return input;
}

std::vector<std::string> folded(const std::vector<std::string>& stacks) {
  const golden::Golden input = recording_of(stacks);
  std::vector<std::string> lines;
  for (const PathNode& node :
       hot_paths(input.recording, input.names, Weight::kSamples, no_state, 100).nodes) {
    lines.push_back(std::string(node.depth, '>') + node.function + " " +
                    std::to_string(node.total) + "/" + std::to_string(node.self) +
                    (node.levels > 1 ? " x" + std::to_string(node.levels) : ""));
  }
  return lines;
}

TEST(HotPaths, FoldRecursionIntoOneNode) {
  EXPECT_THAT(folded({"mfffl", "mffffff", "mf", "mffg"}),
              ElementsAre("m 4/0", ">f 4/2 x6", ">>l 1/1", ">>g 1/1"));
}

TEST(HotPaths, FoldFunctionsThatCallEachOtherInTurn) {
  EXPECT_THAT(folded({"mefefefl", "mefe"}),
              ElementsAre("m 2/0", ">e 2/0", ">>f 2/0 x3", ">>>e 1/1", ">>>l 1/1"));
  EXPECT_THAT(folded({"mabcabcabc"}), ElementsAre("m 1/0", ">a 1/0", ">>b 1/0", ">>>c 1/1 x3"));
}

TEST(HotPaths, KeepWhatIsNoRecursion) {
  EXPECT_THAT(folded({"mabac"}),
              ElementsAre("m 1/0", ">a 1/0", ">>b 1/0", ">>>a 1/0", ">>>>c 1/1"));
}

TEST(WaitTimes, SumUpEachSystemCall) {
  const auto golden = golden::make_golden();
  const auto waits = wait_times(golden.recording);
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0].syscall, "poll");
  EXPECT_EQ(waits[0].blocked, 550ms);
  EXPECT_EQ(waits[0].samples, 55u);
  EXPECT_EQ(waits[0].threads, 2u);
  EXPECT_EQ(waits[1].syscall, "");
  EXPECT_EQ(waits[1].blocked, 10ms);
}

TEST(WaitTimes, TellOneCallsPlacesInTheKernelApart) {
  Recording recording = golden::make_golden().recording;
  Stack other = *std::find_if(recording.stacks.begin(), recording.stacks.end(),
                              [](const Stack& stack) { return stack.wait_syscall == "poll"; });
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
  EXPECT_EQ(found->syscall, "poll");
  EXPECT_EQ(found->channel, "do_poll");
  EXPECT_EQ(found->threads, 1u);
}

}  // namespace
}  // namespace swipr::profile
