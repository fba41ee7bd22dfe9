#include "cli/profile/recording/collector_frames.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace swipr::profile {
namespace {

// Frames of a recording: a collector, a function of Python, and calls of native code.
class CollectorFramesTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kCollectorFrame = 0;
  static constexpr std::uint32_t kPythonFrame = 1;
  static constexpr std::uint32_t kCallOfCollector = 2;
  static constexpr std::uint32_t kOtherCall = 3;
  static constexpr std::uint32_t kLeaf = 4;

  CollectorFramesTest() {
    recording_.functions = {{0, Language::kPython, "[garbage collection]", "", 0, true},
                            {0, Language::kPython, "collects", "", 1, false}};
    for (std::uint32_t number = 0; number < 5; ++number) {
      Frame& frame = recording_.frames.emplace_back();
      const bool is_python = number <= kPythonFrame;
      frame.pc = RuntimeAddr{is_python ? runtime_frame_pc({number + 1, 1}) : 0x1000 + number};
      frame.kind = is_python || number == kLeaf ? PcKind::kExact : PcKind::kReturnAddress;
      if (is_python) frame.function = number;
    }
  }
  std::uint32_t add(std::vector<std::uint32_t> frames, std::uint64_t ticks) {
    const auto stack = static_cast<std::uint32_t>(recording_.stacks.size());
    recording_.stacks.emplace_back().frames = std::move(frames);
    Sample& sample = recording_.samples.emplace_back();
    sample.stack = stack;
    sample.ticks = ticks;
    return stack;
  }
  const std::vector<std::uint32_t>& frames_of(std::uint32_t stack) {
    return recording_.stacks[stack].frames;
  }

  Recording recording_;
};
using FrameList = std::vector<std::uint32_t>;

TEST_F(CollectorFramesTest, AreKeptBelowCallsThatOnlyCollectorsMake) {
  const FrameList frames = {kLeaf, kCallOfCollector, kCollectorFrame, kPythonFrame, kOtherCall};
  const std::uint32_t stack = add(frames, 8);
  add({kLeaf, kPythonFrame}, 100);
  drop_doubtful_collectors(recording_);
  EXPECT_EQ(frames_of(stack), frames);
}

TEST_F(CollectorFramesTest, AreDroppedFromAThreadThatExecutesPython) {
  const std::uint32_t stack = add({kLeaf, kCollectorFrame, kPythonFrame, kCallOfCollector}, 3);
  recording_.stacks[stack].omitted_at = 3;
  drop_doubtful_collectors(recording_);
  EXPECT_EQ(frames_of(stack), (FrameList{kLeaf, kPythonFrame, kCallOfCollector}));
  EXPECT_EQ(recording_.stacks[stack].omitted_at, 2u);
}

TEST_F(CollectorFramesTest, AreKeptOfARuntimeThatKnowsWhichThreadCollects) {
  const FrameList frames = {kLeaf, kOtherCall, kCollectorFrame, kPythonFrame};
  recording_.functions[0].language = Language::kRuby;
  const std::uint32_t stack = add(frames, 1);
  add({kLeaf, kOtherCall, kPythonFrame}, 100);
  drop_doubtful_collectors(recording_);
  EXPECT_EQ(frames_of(stack), frames);
}

TEST_F(CollectorFramesTest, AreDroppedFromAThreadWhoseCallsAreOrdinary) {
  const FrameList collecting = {kLeaf, kOtherCall, kCollectorFrame, kPythonFrame};
  const std::uint32_t stack = add(collecting, 16);
  const std::uint32_t other = add({kLeaf, kOtherCall, kPythonFrame}, 2);
  drop_doubtful_collectors(recording_);
  EXPECT_EQ(frames_of(stack), (FrameList{kLeaf, kOtherCall, kPythonFrame}));
  EXPECT_EQ(frames_of(other), (FrameList{kLeaf, kOtherCall, kPythonFrame}));
}

TEST_F(CollectorFramesTest, AreDroppedFromAThreadWhoseCallsAreRare) {
  const std::uint32_t stack = add({kLeaf, kOtherCall, kCollectorFrame, kPythonFrame}, 8);
  const FrameList certain = {kLeaf, kCallOfCollector, kCollectorFrame, kPythonFrame};
  const std::uint32_t other = add(certain, 300);
  drop_doubtful_collectors(recording_);
  EXPECT_EQ(frames_of(stack), (FrameList{kLeaf, kOtherCall, kPythonFrame}));
  EXPECT_EQ(frames_of(other), certain);
}

TEST_F(CollectorFramesTest, AreKeptIfASampleMissedThem) {
  const FrameList frames = {kLeaf, kCallOfCollector, kCollectorFrame, kPythonFrame};
  const std::uint32_t stack = add(frames, 9);
  add({kLeaf, kCallOfCollector, kPythonFrame}, 1);
  drop_doubtful_collectors(recording_);
  EXPECT_EQ(frames_of(stack), frames);
}

}  // namespace
}  // namespace swipr::profile
