// The schedule of checks, with artificial costs: no clock is read here.
#include "preload/agent/record/overhead_budget.h"

#include <gtest/gtest.h>

namespace swipr::test {
namespace {

using agent::Activity;
using agent::OverheadBudget;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// A control thread whose check of a thread always costs the same.
class Program {
 public:
  Program(std::uint32_t permille, milliseconds interval) : interval_(interval) {
    budget.start(permille, interval, now_, cost_);
  }
  // Cost per tick if every thread were checked.
  nanoseconds idle{0}, light{0}, busy{0};

  // The share of one CPU used during the last second of `length`.
  double run(seconds length) {
    const auto ticks = length / interval_;
    nanoseconds before{0};
    for (std::int64_t tick = 0; tick < ticks; ++tick) {
      if (tick == ticks - seconds(1) / interval_) before = cost_;
      now_ += interval_;
      cost_ +=
          busy + idle / budget.period(Activity::kIdle) + light / budget.period(Activity::kLight);
      if (budget.window_is_over(now_)) budget.close_window(now_, cost_);
    }
    return static_cast<double>((cost_ - before).count()) / 1e9;
  }
  OverheadBudget budget;

 private:
  milliseconds interval_;
  nanoseconds now_{1'000'000'000};
  nanoseconds cost_{0};
};

TEST(OverheadBudget, LooksAtEveryThreadOnEveryTickWhileThatIsCheap) {
  Program program(20, milliseconds(10));
  program.idle = std::chrono::microseconds(100);  // 1 %
  program.run(seconds(10));
  EXPECT_EQ(program.budget.period(Activity::kIdle), 1u);
  EXPECT_EQ(program.budget.period(Activity::kLight), 1u);
}

TEST(OverheadBudget, LooksAtIdleThreadsLessOftenAndAtNoOthers) {
  Program program(20, milliseconds(10));
  program.idle = std::chrono::microseconds(1000);  // 10 %
  program.light = program.busy = std::chrono::microseconds(30);
  EXPECT_LE(program.run(seconds(20)), 0.02);
  EXPECT_GT(program.budget.period(Activity::kIdle), 1u);
  EXPECT_EQ(program.budget.period(Activity::kLight), 1u);
  EXPECT_EQ(program.budget.period(Activity::kBusy), 1u);
}

TEST(OverheadBudget, LooksAtLightThreadsLessOftenWhenIdleOnesCannotGiveEnough) {
  Program program(20, milliseconds(10));
  program.light = std::chrono::microseconds(4000);  // 40 %
  EXPECT_LE(program.run(seconds(30)), 0.02);
  EXPECT_GT(program.budget.period(Activity::kLight), 1u);
}

TEST(OverheadBudget, LooksAtEachThreadOnceASecondWhateverItCosts) {
  Program program(20, milliseconds(10));
  program.busy = milliseconds(9);
  program.run(seconds(30));
  EXPECT_EQ(program.budget.period(Activity::kIdle), 100u);
  EXPECT_EQ(program.budget.period(Activity::kLight), 100u);
  EXPECT_EQ(program.budget.period(Activity::kBusy), 1u);
  // Ticks at such intervals are never skipped.
  Program slow(20, milliseconds(2000));
  slow.busy = seconds(1);
  slow.run(seconds(60));
  EXPECT_EQ(slow.budget.period(Activity::kIdle), 1u);
}

TEST(OverheadBudget, ReturnsToEveryTickWhenTheCostIsGone) {
  Program program(20, milliseconds(10));
  program.light = program.idle = milliseconds(5);
  program.run(seconds(10));
  EXPECT_GT(program.budget.period(Activity::kIdle), 1u);
  program.light = program.idle = nanoseconds(0);
  program.run(seconds(120));
  EXPECT_EQ(program.budget.period(Activity::kIdle), 1u);
  EXPECT_EQ(program.budget.period(Activity::kLight), 1u);
}

}  // namespace
}  // namespace swipr::test
