#include "cli/profile/tables/task_waits.h"

#include <gtest/gtest.h>

#include "cli/profile/tables/wait_times.h"

namespace swipr::profile {
namespace {

using std::chrono::milliseconds;

// Frames 0 to 9 have the names of their digits. Innermost first.
class TaskWaitsTest : public ::testing::Test {
 protected:
  TaskWaitsTest() {
    constexpr std::string_view kDigits = "0123456789";
    for (std::size_t at = 0; at < kDigits.size(); ++at) {
      NamedFrame frame;
      frame.function = kDigits.substr(at, 1);
      names_.frames.push_back({frame});
    }
  }
  std::uint32_t add_stack(std::vector<std::uint32_t> frames, RuntimeWait wait) {
    Stack stack;
    stack.frames = std::move(frames);
    stack.runtime_wait = wait;
    recording_.stacks.push_back(stack);
    return static_cast<std::uint32_t>(recording_.stacks.size() - 1);
  }
  void add_wait(std::uint32_t thread, std::uint32_t stack, int wall_ms) {
    Sample sample;
    sample.thread = thread;
    sample.stack = stack;
    sample.state = State::kBlocked;
    sample.ticks = 1;
    sample.wall = milliseconds(wall_ms);
    recording_.samples.push_back(sample);
  }

  Recording recording_;
  Names names_;
};

TEST_F(TaskWaitsTest, AreSummedByChain) {
  const std::uint32_t one = add_stack({1, 2}, RuntimeWait::kAwait);
  const std::uint32_t same = add_stack({1, 2}, RuntimeWait::kAwait);
  const std::uint32_t other = add_stack({3}, RuntimeWait::kAwait);
  add_wait(0, one, 10);
  add_wait(0, one, 10);
  add_wait(1, same, 10);
  add_wait(2, other, 50);
  add_wait(3, add_stack({1, 2}, RuntimeWait::kGil), 70);
  const auto waits = task_waits(recording_, names_);
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0].chain, "3");
  EXPECT_EQ(waits[0].waited, milliseconds(50));
  EXPECT_EQ(waits[1].chain, "2 → 1");
  EXPECT_EQ(waits[1].waited, milliseconds(30));
  EXPECT_EQ(waits[1].samples, 3u);
  EXPECT_EQ(waits[1].tasks, 2u);
}

TEST_F(TaskWaitsTest, NameTheInnerFunctionsOfALongChain) {
  add_wait(0, add_stack({0, 1, 2, 3, 4, 5, 6, 7, 8}, RuntimeWait::kAwait), 10);
  const auto waits = task_waits(recording_, names_);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].chain, "… → 7 → 6 → 5 → 4 → 3 → 2 → 1 → 0");
}

TEST_F(TaskWaitsTest, AreNoWaitsOfThreads) {
  add_wait(0, add_stack({1}, RuntimeWait::kAwait), 10);
  EXPECT_TRUE(wait_times(recording_).empty());
}

}  // namespace
}  // namespace swipr::profile
