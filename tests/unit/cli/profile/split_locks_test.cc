#include "cli/profile/split_locks.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/core/duration_buckets.h"
#include "tests/unit/cli/profile/lock_stacks.h"

namespace swipr::profile {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kServer = 0;
constexpr std::uint32_t kHolder = 1;
constexpr std::uint32_t kSlowCall = 0;
constexpr std::uint32_t kQuickCall = 1;
constexpr std::uint32_t kOpenCall = 2;

// Calls of a function with 20 ms and 5 ms, and one that has not returned.
class SplitLocksTest : public testing::Test {
 protected:
  SplitLocksTest() {
    recording_.processes.resize(1);
    recording_.threads = {{0, Tid{70}, "server"}, {0, Tid{71}, "writer"}};
    TracedFunction& function = recording_.traced.emplace_back();
    function.was_traced = true;
    function.buckets = {{bucket_of(20'000'000), 1}, {bucket_of(5'000'000), 1}};
    recording_.calls = {{0, milliseconds(0), milliseconds(20)},
                        {0, milliseconds(20), milliseconds(5)},
                        {0, milliseconds(25)}};
    for (std::uint32_t call = 0; call < 3; ++call) {
      recording_.open_calls.push_back(call);
      recording_.call_sets.push_back({call, 1});
    }
    works_ = stack({"flush"}, RuntimeWait::kNone, Tid{});
    waits_ = stack({"pthread_mutex_lock", "append"}, RuntimeWait::kMutex, Tid{71});
    add(kHolder, works_, milliseconds(200), State::kRunning, kNone);
  }

  std::uint32_t stack(const std::vector<std::string_view>& functions, RuntimeWait kind,
                      Tid holder) {
    return add_lock_stack(recording_, names_, functions, kind, holder);
  }
  void add(std::uint32_t thread, std::uint32_t stack, milliseconds wall, State state,
           std::uint32_t call) {
    Sample& sample = recording_.samples.emplace_back();
    sample.time = thread == kHolder ? wall : last_ + wall;
    sample.wall = wall;
    sample.thread = thread;
    sample.stack = stack;
    sample.state = state;
    sample.calls = call;
    if (thread == kServer) last_ += wall;
  }
  std::vector<SplitLock> found() const {
    const CallSplit split(recording_, {0}, milliseconds(10));
    return compare_locks(recording_, names_, split,
                         compare_parts(recording_, names_, split, Weight::kWall));
  }

  Recording recording_;
  Names names_;
  milliseconds last_{0};
  std::uint32_t works_ = 0;
  std::uint32_t waits_ = 0;
};

TEST_F(SplitLocksTest, HaveTheirOwnersAndTimesOfBothParts) {
  const std::uint32_t other =
      stack({"pthread_mutex_lock", "look_up"}, RuntimeWait::kMutex, Tid{99});
  add(kServer, other, milliseconds(4), State::kBlocked, kQuickCall);
  add(kServer, other, milliseconds(1), State::kBlocked, kSlowCall);
  add(kServer, waits_, milliseconds(8), State::kBlocked, kSlowCall);
  add(kServer, waits_, milliseconds(3), State::kBlocked, kSlowCall);
  add(kServer, waits_, milliseconds(2), State::kBlocked, kQuickCall);
  const std::vector<SplitLock> locks = found();
  ASSERT_EQ(locks.size(), 2u);
  EXPECT_EQ(locks[0].lock, "mutex in append");
  EXPECT_EQ(locks[0].owner, "writer 71");
  EXPECT_EQ(locks[0].function, "flush");
  EXPECT_EQ(locks[0].slow, milliseconds(11));
  EXPECT_EQ(locks[0].normal, milliseconds(2));
  EXPECT_EQ(locks[1].lock, "mutex in look_up");
  EXPECT_EQ(locks[1].owner, "");
  EXPECT_EQ(locks[1].slow, milliseconds(1));
  EXPECT_EQ(locks[1].normal, milliseconds(4));
}

TEST_F(SplitLocksTest, AreThoseOfWaitsInReturnedCallsOnly) {
  const std::uint32_t none = stack({"read", "append"}, RuntimeWait::kNone, Tid{});
  add(kServer, waits_, milliseconds(5), State::kBlocked, kNone);      // outside of all calls
  add(kServer, waits_, milliseconds(5), State::kBlocked, kOpenCall);  // not known to be slow
  add(kServer, waits_, milliseconds(5), State::kRunnable, kSlowCall);
  add(kServer, none, milliseconds(5), State::kBlocked, kSlowCall);
  EXPECT_TRUE(found().empty());
}

// Counts know the bucket of a call only, calls that samples have met their duration.
TEST_F(SplitLocksTest, AreOfAsManySlowCallsAsAreCounted) {
  const std::size_t bucket = bucket_of(20'000'000);
  recording_.traced[0].buckets = {{static_cast<std::uint32_t>(bucket), 100}};
  recording_.calls[kSlowCall].duration =
      std::chrono::nanoseconds(static_cast<std::int64_t>(bucket_begin(bucket + 1) - 1));
  const std::vector<std::uint32_t> functions = {0};
  const auto median = quantile_of_calls(recording_, functions, 50'000);
  ASSERT_TRUE(median.has_value());
  add(kServer, waits_, milliseconds(8), State::kBlocked, kSlowCall);
  const CallSplit split(recording_, functions, *median);
  const SplitComparison calls = compare_parts(recording_, names_, split, Weight::kWall);
  EXPECT_EQ(calls.slow.calls, 0u);
  EXPECT_EQ(calls.slow.sampled_calls, 0u);
  EXPECT_EQ(calls.normal.calls, 100u);
  EXPECT_EQ(calls.normal.sampled_calls, 1u);
}

}  // namespace
}  // namespace swipr::profile
