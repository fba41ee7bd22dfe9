// What the recorder reports at its limits: slow readers, threads that do not answer, many threads,
// invalid requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "preload/handler/asking.h"
#include "preload/handler/signals/disposition.h"
#include "tests/unit/preload/agent/engine/accounts.h"
#include "tests/unit/preload/agent/engine/control_loop.h"
#include "tests/unit/preload/agent/engine/program_threads.h"

namespace swipr::test {
namespace {

using std::chrono::milliseconds;

// A reader that wakes when no more data was written during this number of ticks.
class SlowReader {
 public:
  bool is_awake() {
    const agent::RecorderCounters counters = agent::recorder().counters();
    if (counters.samples != samples_) {
      samples_ = counters.samples;
      ticks_then_ = counters.ticks;
    }
    if (counters.ticks >= ticks_then_ + 50) awake_ = true;
    if (awake_ && ticks_awake_ == 0) ticks_awake_ = counters.ticks;
    if (awake_ && counters.ticks >= ticks_awake_ + 100) caught_up_ = true;
    return awake_;
  }
  bool caught_up() const { return caught_up_; }

 private:
  std::uint64_t samples_ = 0;
  std::uint64_t ticks_then_ = 0;
  std::uint64_t ticks_awake_ = 0;
  bool awake_ = false;
  std::atomic<bool> caught_up_{false};
};

bool has_stack(const DecodedRecording& recording, int tid) {
  const DecodedThread* seen = recording.thread_of(tid);
  return seen != nullptr &&
         std::any_of(seen->entries.begin(), seen->entries.end(),
                     [](const DecodedEntry& entry) { return entry.sample.stack_id != 0; });
}

TEST(RecorderLimits, WhatASlowReaderLosesIsCountedAndItsTimeIsCarriedOn) {
  std::atomic<bool> stop{false};
  ProgramThread first([&] { recorder_test_spin(&stop); });
  ProgramThread second([&] { recorder_test_spin(&stop); });
  SlowReader reader;
  const auto all = record({{.request = {.interval = milliseconds(1)},
                            .output_bytes = 4096,
                            .reader_is_awake = [&] { return reader.is_awake(); }}},
                          {.after_start = {}, .before_ticks = {}, .meanwhile = [&] {
                             EXPECT_TRUE(eventually([&] { return reader.caught_up(); }));
                           }});
  stop = true;
  ASSERT_EQ(all.size(), 1u);
  const DecodedRecording& recording = all.front();
  ASSERT_FALSE(recording.damaged);
  EXPECT_GT(recording.totals.at("samples_dropped"), 0u);
  ASSERT_TRUE(recording.duration_ns.has_value());
  for (const int tid : {first.tid(), second.tid()}) {
    const DecodedThread* seen = recording.thread_of(tid);
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen->sum_wall(), *recording.duration_ns);
    EXPECT_LE(seen->sum_ticks(), recording.totals.at("ticks"));
  }
}

void block_signals(std::initializer_list<int> numbers) {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int number : numbers) sigaddset(&blocked, number);
  ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
}

TEST(RecorderLimits, AThreadThatBlocksTheUsualSignalIsAskedByAnother) {
  std::atomic<bool> stop{false};
  std::atomic<bool> signals_wait{false};
  ProgramThread thread([&] {
    block_signals({SIGURG});
    recorder_test_spin(&stop);
    sigset_t pending;
    ::sigpending(&pending);
    signals_wait = sigismember(&pending, SIGURG) == 1 || sigismember(&pending, SIGWINCH) == 1;
  });
  const auto all = record({{.request = {.interval = milliseconds(5)}}},
                          {.after_start = {}, .before_ticks = {}, .meanwhile = [&] {
                             const auto until = thread.cpu() + milliseconds(400);
                             EXPECT_TRUE(eventually([&] { return thread.cpu() >= until; }));
                           }});
  stop = true;
  thread.join();
  EXPECT_TRUE(has_stack(all.at(0), thread.tid()));
  EXPECT_THAT(all.at(0).messages, testing::Not(testing::HasSubstr("block the sampling signal")));
  EXPECT_FALSE(signals_wait);
  agent::recorder().set_owner(::getpid());
  EXPECT_EQ(handler::sampling_signal(), SIGWINCH);
  for (const int number : {SIGURG, SIGWINCH}) {
    // As the program sees it: while a signal is pending, swipr's handler stays installed.
    struct sigaction action {};
    handler::exchange_program_action(number, nullptr, &action, ::sigaction);
    EXPECT_EQ(action.sa_handler, SIG_DFL) << number;
  }
  agent::recorder().set_signal_number(0);
  handler::set_disposition_owner(0, 0);
}

TEST(RecorderLimits, AThreadThatBlocksTheSignalIsCountedAndItsTimesStayRight) {
  std::atomic<bool> stop{false};
  ProgramThread thread([&] {
    block_signals({SIGURG, SIGWINCH});
    recorder_test_spin(&stop);
  });
  const DecodedRecording recording = record_one({.interval = milliseconds(5), .ticks = 200});
  stop = true;
  ASSERT_FALSE(recording.damaged);
  const DecodedThread* seen = recording.thread_of(thread.tid());
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->sum_wall(), *recording.duration_ns);
  EXPECT_EQ(seen->sum_ticks(), recording.totals.at("ticks"));
  EXPECT_GE(recording.totals.at("stacks_missing"), seen->sum_ticks());
  for (const DecodedEntry& entry : seen->entries) EXPECT_EQ(entry.sample.stack_id, 0u);
  EXPECT_THAT(recording.messages, testing::HasSubstr("block the sampling signal"));
}

// As the wrapped pthread_sigmask does. Others keep it from its CPU, also in the middle of a moment.
TEST(RecorderLimits, AThreadThatBlocksSignalsForMomentsIsNotSaidToBlockThem) {
  std::atomic<bool> stop{false};
  ProgramThread thread([&] {
    sigset_t all, before;
    sigfillset(&all);
    while (!stop) {
      {
        const handler::MaskChange change(true);
        ::pthread_sigmask(SIG_BLOCK, &all, &before);
      }
      burn(std::chrono::microseconds(100));
      {
        const handler::MaskChange change(false);
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
      }
      burn(std::chrono::microseconds(900));
    }
  });
  std::vector<std::unique_ptr<ProgramThread>> others;
  for (int other = 0; other < 6; ++other) {
    others.push_back(std::make_unique<ProgramThread>([&] { recorder_test_spin(&stop); }));
  }
  const auto all = record({{.request = {.interval = milliseconds(1)}}},
                          {.after_start = {}, .before_ticks = {}, .meanwhile = [&] {
                             const auto until = thread.cpu() + milliseconds(200);
                             EXPECT_TRUE(eventually([&] { return thread.cpu() >= until; }));
                           }});
  stop = true;
  thread.join();
  EXPECT_TRUE(has_stack(all.at(0), thread.tid()));
  EXPECT_THAT(all.at(0).messages, testing::Not(testing::HasSubstr("block the sampling signal")));
}

std::atomic<int> signals_of_the_program{0};

TEST(RecorderLimits, AStackComesAlsoWhereTheKernelLosesWhatTheSignalBrings) {
  struct sigaction own {};
  own.sa_handler = [](int) { ++signals_of_the_program; };
  own.sa_flags = SA_RESTART;
  struct sigaction before {};
  ::sigaction(SIGURG, &own, &before);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_SIGPENDING, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  std::atomic<bool> stop{false};
  ProgramThread spinner([&] { recorder_test_spin(&stop); });
  ASSERT_EQ(::setrlimit(RLIMIT_SIGPENDING, &none), 0);
  const DecodedRecording recording = record_one({.interval = milliseconds(5), .ticks = 60});
  ::setrlimit(RLIMIT_SIGPENDING, &limit);
  stop = true;
  ::sigaction(SIGURG, &before, nullptr);
  EXPECT_TRUE(has_stack(recording, spinner.tid()));
  EXPECT_GT(recording.totals.at("signals_bare"), 0u);
  EXPECT_EQ(signals_of_the_program, 0);
}

TEST(RecorderLimits, AMachineThatStandsStillForTheWholeRecordingLeavesOneTickWithItsStacks) {
  std::atomic<bool> stop{false};
  ProgramThread spinner([&] { recorder_test_spin(&stop); });
  agent::Moment end{0};
  const DecodedRecording recording =
      record_one({.interval = milliseconds(1), .ticks = 20},
                 {.after_start = [&] { end = agent::monotonic_now() + milliseconds(20); },
                  .before_ticks = [&] { eventually([&] { return agent::monotonic_now() > end; }); },
                  .meanwhile = {}});
  stop = true;
  EXPECT_EQ(recording.totals.at("ticks"), 1u);
  EXPECT_EQ(recording.totals.at("ticks_missed"), 19u);
  EXPECT_TRUE(has_stack(recording, spinner.tid()));
}

TEST(RecorderLimits, AThousandBlockedThreadsAllHaveTheirStack) {
  constexpr int kThreads = 1000;
  std::mutex mutex;
  std::condition_variable condition;
  bool stop = false;
  std::vector<std::unique_ptr<ProgramThread>> threads;
  for (int count = 0; count < kThreads; ++count) {
    threads.push_back(std::make_unique<ProgramThread>([&] {
      call_through_chain([&] {
        std::unique_lock lock(mutex);
        condition.wait(lock, [&] { return stop; });
      });
    }));
  }
  for (const auto& thread : threads) ASSERT_TRUE(thread->waits());
  const DecodedRecording recording = record_one({.interval = milliseconds(20), .ticks = 10});
  {
    const std::lock_guard lock(mutex);
    stop = true;
    condition.notify_all();
  }
  ASSERT_FALSE(recording.damaged);
  for (const auto& thread : threads) {
    const DecodedThread* seen = recording.thread_of(thread->tid());
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen->sum_wall(), *recording.duration_ns);
    ASSERT_FALSE(seen->entries.empty());
    EXPECT_NE(seen->entries.front().sample.stack_id, 0u);
  }
  EXPECT_EQ(recording.totals.at("signals_to_blocked"), 0u);
}

TEST(RecorderLimits, ImpossibleRequestsAreRefusedWithAReason) {
  agent::OutputQueue output;
  ASSERT_TRUE(output.create(1 << 20));
  const char* error = nullptr;
  EXPECT_EQ(agent::recorder().start({.interval = std::chrono::nanoseconds(1)}, output, &error),
            nullptr);
  EXPECT_STREQ(error, "the interval is out of range");
  agent::OutputQueue tiny;
  ASSERT_TRUE(tiny.create(1));
  std::vector<std::byte> filler(tiny.free_bytes());
  ASSERT_TRUE(tiny.try_append(filler));
  error = nullptr;
  EXPECT_EQ(agent::recorder().start({}, tiny, &error), nullptr);
  EXPECT_STREQ(error, "the output buffer is too small for the header of the recording");
  EXPECT_EQ(agent::recorder().next_deadline(), agent::kNever);
}

}  // namespace
}  // namespace swipr::test
