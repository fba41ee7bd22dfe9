// Compares the times of a recording with the process's own clocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>

#include "tests/unit/preload/agent/engine/accounts.h"

namespace swipr::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(Accounting, CpuOfAllThreadsIsWhatTheProcessUsed) {
  std::atomic<bool> stop{false};
  ProgramThread spinner([&] { recorder_test_spin(&stop); });
  Naps naps;
  ProgramThread napper([&] {
    while (naps.nap(milliseconds(2))) burn(milliseconds(1));
  });
  const Measured measured =
      record_beside(CLOCK_PROCESS_CPUTIME_ID, {{.interval = milliseconds(5), .ticks = 200}});
  stop = true;
  naps.end();
  expect_all_cpu_is_there(measured.recordings.at(0), measured);
}

TEST(Accounting, CpuOfThreadsThatNoTickSawIsTold) {
  std::atomic<bool> stop{false};
  ProgramThread spawner([&] {
    while (!stop) std::thread([] { burn(std::chrono::microseconds(300)); }).join();
  });
  const Measured measured =
      record_beside(CLOCK_PROCESS_CPUTIME_ID, {{.interval = milliseconds(20), .ticks = 50}});
  stop = true;
  expect_all_cpu_is_there(measured.recordings.at(0), measured);
  std::uint64_t ended_cpu = 0;
  for (const auto& [index, thread] : measured.recordings.at(0).threads) {
    if (thread.name != "[ended threads]") continue;
    ended_cpu += thread.sum_cpu();
    EXPECT_EQ(thread.tid, 0u);
    EXPECT_EQ(thread.sum_wall(), 0u);
    EXPECT_EQ(thread.sum_ticks(), 0u);
  }
  EXPECT_GT(ended_cpu, 0u);
}

TEST(Accounting, SharesOfRunningAndSleepingAreTheProgramsOwn) {
  Naps naps;
  ProgramThread thread([&] {
    while (naps.nap(milliseconds(6))) burn(milliseconds(3));
  });
  nanoseconds cpu_before{}, wall_before{}, cpu_behind{}, wall_behind{};
  const auto take_down = [&thread](nanoseconds& cpu, nanoseconds& wall) {
    cpu = thread.cpu();
    wall = read_clock(CLOCK_MONOTONIC);
  };
  // Up to the last tick: after it the recording is decoded, which may take long.
  const DecodedRecording recording =
      record_one({.interval = milliseconds(5), .ticks = 400},
                 {.after_start = [&] { take_down(cpu_before, wall_before); },
                  .before_ticks = [&] { take_down(cpu_behind, wall_behind); },
                  .meanwhile = {}});
  const auto cpu = static_cast<double>((cpu_behind - cpu_before).count());
  const auto wall = static_cast<double>((wall_behind - wall_before).count());
  naps.end();
  ASSERT_FALSE(recording.damaged);
  const DecodedThread* seen = recording.thread_of(thread.tid());
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->sum_wall(), *recording.duration_ns);
  EXPECT_NEAR(static_cast<double>(seen->sum_cpu()) / static_cast<double>(seen->sum_wall()),
              cpu / wall, 0.02);
}

// Threads that wait until the end.
class Crowd {
 public:
  explicit Crowd(int count) {
    while (count-- != 0) {
      threads.push_back(std::make_unique<ProgramThread>([this] {
        std::unique_lock lock(mutex_);
        condition_.wait(lock, [this] { return stop_; });
      }));
    }
    for (const auto& thread : threads) EXPECT_TRUE(thread->waits());
  }
  ~Crowd() {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    condition_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool stop_ = false;

 public:
  std::vector<std::unique_ptr<ProgramThread>> threads;
};

TEST(Accounting, AboveTheBudgetIdleThreadsAreLeftOutAndAllTimesStayExact) {
  std::atomic<bool> stop{false};
  const auto crowd = std::make_unique<Crowd>(300);
  ProgramThread spinner([&] { recorder_test_spin(&stop); });
  Naps naps;
  ProgramThread waker([&] {
    while (naps.nap(milliseconds(50))) burn(std::chrono::microseconds(200));
  });
  const Measured measured =
      record_beside(CLOCK_PROCESS_CPUTIME_ID,
                    {{.interval = milliseconds(1), .ticks = 1500, .max_overhead_permille = 1}});
  stop = true;
  naps.end();
  const DecodedRecording& recording = measured.recordings.at(0);
  expect_all_cpu_is_there(recording, measured);
  EXPECT_GT(recording.totals.at("ticks_stretched"), 0u);
  EXPECT_THAT(recording.messages, testing::HasSubstr("because they slept"));
  EXPECT_THAT(recording.messages, testing::HasSubstr("--max-overhead"));
  for (const auto& [index, thread] : recording.threads) {
    if (thread.start_ns != 0) continue;
    EXPECT_EQ(thread.sum_wall(), *recording.duration_ns) << thread.name;
    EXPECT_EQ(thread.sum_ticks(), recording.totals.at("ticks")) << thread.name;
  }
  // The busy thread had its own entry at nearly every tick: more than with stretched ticks.
  ASSERT_NE(recording.thread_of(spinner.tid()), nullptr);
  EXPECT_GT(recording.thread_of(spinner.tid())->entries.size(),
            recording.thread_of(waker.tid())->entries.size());
}

// Above the budget threads that sleep for some ticks are checked seldom. Their timers say that they
// have run.
TEST(Accounting, ALongWaitDoesNotHideWhatComesNext) {
  const auto crowd = std::make_unique<Crowd>(300);
  Naps naps;
  ProgramThread thread([&] {
    while (naps.nap(milliseconds(10))) burn(milliseconds(10));
  });
  const Measured measured =
      record_beside(CLOCK_PROCESS_CPUTIME_ID,
                    {{.interval = milliseconds(1), .ticks = 2000, .max_overhead_permille = 1}});
  naps.end();
  const DecodedRecording& recording = measured.recordings.at(0);
  ASSERT_GT(recording.totals.at("ticks_stretched"), 0u);
  if (recording.totals.at("cpu_timer_stacks") == 0) GTEST_SKIP() << "no CPU timers here";
  ASSERT_NE(recording.thread_of(thread.tid()), nullptr);
  std::int64_t at_once_ns = 0;
  std::int64_t all_ns = 0;
  for (const DecodedEntry& entry : recording.thread_of(thread.tid())->entries) {
    all_ns += entry.sample.cpu_ns;
    if (entry.sample.cpu_ns > 50'000'000) at_once_ns += entry.sample.cpu_ns;
  }
  EXPECT_LT(at_once_ns, all_ns / 5) << "of " << all_ns;
}

// 12 bytes for each entry; 4 more for a time that most do not have: a wait for a CPU that is not
// the whole rest, and in CPU mode the wall time, which is not the time between two ticks there.
// After a gap of more than 2^21 ns its two times take a byte more each, and so does a number of
// ticks.
std::uint64_t bytes_of(const wire::SampleEntry& entry, wire::RecordMode mode) {
  const bool rest = entry.runqueue_ns == 0 || entry.runqueue_ns == entry.wall_ns - entry.cpu_ns;
  const bool more = !rest || mode == wire::RecordMode::kCpu;
  return 12 + (more ? 4 : 0) + (entry.wall_ns >> 21 != 0 ? 2 : 0) + (entry.ticks != 1 ? 1 : 0);
}
std::uint64_t allowed_bytes(const DecodedRecording& recording) {
  std::uint64_t allowed = 0;
  for (const auto& [index, thread] : recording.threads) {
    for (const DecodedEntry& entry : thread.entries)
      allowed += bytes_of(entry.sample, recording.mode);
  }
  return allowed;
}

// One busy thread is the worst case: every sample pays for a tick of its own.
TEST(Accounting, ASampleTakesAtMostTwelveBytes) {
  for (const auto mode : {wire::RecordMode::kWall, wire::RecordMode::kCpu}) {
    std::atomic<bool> stop{false};
    ProgramThread spinner([&] { recorder_test_spin(&stop); });
    // Not for a fixed time: on a busy machine hundreds of ticks may be missed at once.
    std::atomic<std::uint64_t> ticks{0};
    const std::uint64_t before = agent::recorder().counters().ticks;
    const DecodedRecording recording =
        record_one({.interval = milliseconds(1), .mode = mode},
                   {.after_start = {},
                    .before_ticks = [&] { ticks = agent::recorder().counters().ticks - before; },
                    .meanwhile = [&] { EXPECT_TRUE(eventually([&] { return ticks >= 300; })); }});
    stop = true;
    EXPECT_GT(recording.thread_of(spinner.tid())->entries.size(), 5u);
    EXPECT_LE(recording.tick_bytes, allowed_bytes(recording)) << static_cast<int>(mode);
  }
}

TEST(Accounting, AnIdleThreadTakesLessThanAByteATick) {
  const auto crowd = std::make_unique<Crowd>(100);
  const DecodedRecording recording =
      record_one({.interval = milliseconds(2), .ticks = 300, .max_overhead_permille = 1'000'000});
  EXPECT_GE(recording.totals.at("samples"), 100 * recording.totals.at("ticks"));
  EXPECT_LE(recording.tick_bytes, recording.totals.at("samples"));
}

TEST(Accounting, WithinTheBudgetNothingIsLeftOut) {
  const auto crowd = std::make_unique<Crowd>(10);
  const DecodedRecording recording =
      record_one({.interval = milliseconds(5), .ticks = 100, .max_overhead_permille = 1'000'000});
  EXPECT_EQ(recording.totals.at("ticks_stretched"), 0u);
  EXPECT_THAT(recording.messages, testing::Not(testing::HasSubstr("--max-overhead")));
}

// NOLINTNEXTLINE(misc-no-recursion): depth makes stacks differ.
[[gnu::noinline]] void burn_deeper(int depth) {
  if (depth == 0) return burn(std::chrono::microseconds(500));
  burn_deeper(depth - 1);
  asm volatile("" ::: "memory");
}

TEST(Accounting, MoreStacksThanMemoryStartNewGenerationsAndLoseNothing) {
  std::atomic<bool> stop{false};
  ProgramThread thread([&] {
    for (int depth = 0; !stop; depth = (depth + 1) % 50) burn_deeper(depth);
  });
  const auto crowd = std::make_unique<Crowd>(3);
  const DecodedRecording recording =
      record_one({.interval = milliseconds(1), .ticks = 500, .max_stacks = 8});
  stop = true;
  ASSERT_FALSE(recording.damaged);
  EXPECT_GT(recording.totals.at("stack_generations"), 2u);
  EXPECT_EQ(recording.thread_of(thread.tid())->sum_wall(), *recording.duration_ns);
  for (const auto& waiting : crowd->threads) {
    const DecodedThread* seen = recording.thread_of(waiting->tid());
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen->sum_ticks(), recording.totals.at("ticks"));
    const DecodedStack& first = seen->entries.front().stack;
    for (const DecodedEntry& entry : seen->entries) {
      ASSERT_EQ(entry.stack.frames.size(), first.frames.size());
      EXPECT_EQ(entry.stack.frames.front().pc, first.frames.front().pc);
      EXPECT_EQ(entry.stack.frames.back().pc, first.frames.back().pc);
    }
  }
}

}  // namespace
}  // namespace swipr::test
