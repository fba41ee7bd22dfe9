#include "preload/agent/record/accounts/task_waits.h"

#include <gtest/gtest.h>

#include <vector>

namespace swipr::agent {
namespace {

class AgentTaskWaitsTest : public ::testing::Test {
 protected:
  AgentTaskWaitsTest() { EXPECT_TRUE(waits_.create(20)); }
  ~AgentTaskWaitsTest() override { waits_.release(); }

  void begin(std::vector<std::uint64_t> tasks, std::int64_t tick_ns) {
    waits_.begin(tasks, 0, tick_ns);
  }
  // What the next task waited until this tick.
  std::int64_t look(std::int64_t tick_ns) {
    const std::uint64_t task = waits_.next();
    TaskWaits::Known& known = waits_.known({task, 1, 2});
    const std::int64_t wait_ns = waits_.wait_of(known, tick_ns);
    std::uint32_t& thread = waits_.thread_of(known);
    const bool is_new = thread == TaskWaits::kUnknownThread;
    if (is_new) thread = next_thread_++;
    waits_.note_entry(known, tick_ns, is_new);
    return wait_ns;
  }

  TaskWaits waits_;
  std::uint32_t next_thread_ = 0;
};

TEST_F(AgentTaskWaitsTest, WaitFromOneLookToTheNext) {
  begin({16, 32}, 100);
  EXPECT_EQ(look(100), 100);
  EXPECT_EQ(look(110), 110);  // the look's second part
  EXPECT_FALSE(waits_.has_next());
  begin({16, 32}, 200);
  EXPECT_EQ(look(200), 100);
  EXPECT_EQ(look(230), 120);
}

TEST_F(AgentTaskWaitsTest, StandForTheTimeBetweenLooksIfNew) {
  begin({16}, 100);
  look(100);
  begin({32}, 250);
  EXPECT_EQ(look(260), 150);
  begin({16}, 300);  // it ran at the look before
  EXPECT_EQ(look(300), 50);
}

TEST_F(AgentTaskWaitsTest, WaitUntilTheEndAlsoIfTheLastLookWasNotOver) {
  begin({16, 32}, 100);
  look(100);
  look(100);
  begin({16, 32}, 200);
  EXPECT_EQ(look(200), 100);
  begin({16, 32}, 300);  // the recording ends
  EXPECT_EQ(look(300), 100);
  EXPECT_EQ(waits_.left_out(), 1u);
  EXPECT_EQ(look(300), 200);
  EXPECT_TRUE(waits_.has_looked_at(300));
}

TEST_F(AgentTaskWaitsTest, ShareAThreadWhenSoManyHaveOne) {
  constexpr std::uint64_t kMany = 20'000;
  for (std::uint64_t task = 1; task <= kMany; ++task) {
    begin({16 * task}, static_cast<std::int64_t>(task));
    look(static_cast<std::int64_t>(task));
  }
  EXPECT_LT(next_thread_, kMany);
  TaskWaits::Known& known = waits_.known({16 * (kMany + 1), 1, 2});
  EXPECT_TRUE(waits_.is_other(waits_.thread_of(known)));
}

TEST_F(AgentTaskWaitsTest, PauseUntilTheyCostHalfOfTheLimit) {
  using std::chrono::milliseconds;
  waits_.note_cost(milliseconds(1), milliseconds(1000));
  EXPECT_FALSE(waits_.is_due(milliseconds(1099)));
  EXPECT_TRUE(waits_.is_due(milliseconds(1102)));
}

}  // namespace
}  // namespace swipr::agent
