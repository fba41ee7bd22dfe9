// Recordings of threads whose behaviour is known.
#include "preload/agent/engine/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <mutex>

#include "tests/unit/preload/agent/engine/control_loop.h"
#include "tests/unit/preload/agent/engine/program_threads.h"

namespace swipr::test {
namespace {

using std::chrono::milliseconds;

// Newer architectures lack the first ones.
const std::vector<long> kPollCalls {
#if defined(SYS_poll)
  SYS_poll,
#endif
      SYS_ppoll
};
const std::vector<long> kEpollCalls {
#if defined(SYS_epoll_wait)
  SYS_epoll_wait,
#endif
      SYS_epoll_pwait
};

constexpr agent::RecordingRequest kTwentyTicks{.interval = milliseconds(5), .ticks = 20};

// The chain's three functions, consecutive, innermost first.
bool holds_chain(const std::vector<std::string>& names) {
  return std::search(names.begin(), names.end(), std::begin(kChain), std::end(kChain)) !=
         names.end();
}

struct Blocking {
  const char* name;
  std::function<void()> block;
  std::function<void()> release;
  std::vector<long> system_calls;
};

void expect_blocked_in_chain(const Blocking& blocking) {
  SCOPED_TRACE(blocking.name);
  ProgramThread thread([&] { call_through_chain(blocking.block); });
  ASSERT_TRUE(thread.waits());
  const long switches = thread.voluntary_switches();
  std::string channel;
  std::ifstream("/proc/self/task/" + std::to_string(thread.tid()) + "/wchan") >> channel;
  const DecodedRecording recording = record_one(kTwentyTicks);
  if (kPlainPrologues) {
    EXPECT_EQ(thread.voluntary_switches(), switches) << "the recorder woke it";
  }
  blocking.release();
  ASSERT_FALSE(recording.damaged);
  const DecodedThread* seen = recording.thread_of(thread.tid());
  ASSERT_NE(seen, nullptr);
  ASSERT_FALSE(seen->entries.empty());
  EXPECT_EQ(seen->sum_ticks(), recording.totals.at("ticks"));
  for (const DecodedEntry& entry : seen->entries) {
    EXPECT_TRUE(holds_chain(entry.stack.names()))
        << testing::PrintToString(entry.stack.names()) << " flags " << entry.stack.flags;
    EXPECT_EQ(entry.sample.state, wire::ThreadState::kBlocked);
    EXPECT_EQ(entry.stack.wait_channel, channel == "0" ? "" : channel);
    EXPECT_TRUE((entry.stack.flags & wire::kStackRootReached) != 0);
    EXPECT_THAT(blocking.system_calls,
                testing::Contains(static_cast<long>(entry.stack.wait_syscall) - 1));
  }
}

TEST(Recorder, ShowsTheExactChainOfAThreadBlockedOnADescriptor) {
  if (!kPlainPrologues) GTEST_SKIP() << kWhyProloguesMatter;
  const Pipe pipe;
  const auto release = [&] { pipe.release(); };
  expect_blocked_in_chain({"poll",
                           [&] {
                             pollfd wanted{.fd = pipe.read_end(), .events = POLLIN, .revents = 0};
                             ::poll(&wanted, 1, -1);
                           },
                           release, kPollCalls});
  const Pipe other;
  expect_blocked_in_chain({"read",
                           [&] {
                             char byte;
                             EXPECT_EQ(::read(other.read_end(), &byte, 1), 1);
                           },
                           [&] { other.release(); },
                           {SYS_read}});
  const Pipe third;
  expect_blocked_in_chain({"epoll_wait",
                           [&] {
                             const int set = ::epoll_create1(0);
                             epoll_event event{.events = EPOLLIN, .data = {}};
                             ::epoll_ctl(set, EPOLL_CTL_ADD, third.read_end(), &event);
                             ::epoll_wait(set, &event, 1, -1);
                             ::close(set);
                           },
                           [&] { third.release(); }, kEpollCalls});
}

TEST(Recorder, ShowsTheExactChainOfAThreadBlockedOnALock) {
#ifdef SWIPR_ASAN
  GTEST_SKIP() << "clang's runtime waits in functions of its own, which have no unwind tables";
#endif
  std::mutex mutex;
  mutex.lock();
  expect_blocked_in_chain({"mutex",
                           [&] {
                             mutex.lock();
                             mutex.unlock();
                           },
                           [&] { mutex.unlock(); },
                           {SYS_futex}});
  std::mutex other;
  std::condition_variable condition;
  bool ready = false;
  expect_blocked_in_chain({"condition variable",
                           [&] {
                             std::unique_lock lock(other);
                             condition.wait(lock, [&] { return ready; });
                           },
                           [&] {
                             const std::lock_guard lock(other);
                             ready = true;
                             condition.notify_one();
                           },
                           {SYS_futex}});
}

TEST(Recorder, ShowsTheExactChainOfASleepingThread) {
#ifdef SWIPR_ASAN
  GTEST_SKIP() << "clang's runtime waits in functions of its own, which have no unwind tables";
#endif
  std::atomic<bool> stop{false};
  expect_blocked_in_chain({"sleep",
                           [&] {
                             while (!stop) {
                               const timespec time{.tv_sec = 2, .tv_nsec = 0};
                               ::nanosleep(&time, nullptr);
                             }
                           },
                           [&] { stop = true; },
                           {SYS_nanosleep, SYS_clock_nanosleep}});
}

TEST(Recorder, AWalkOfAThreadThatRanMeanwhileIsThrownAway) {
  if (!kPlainPrologues) GTEST_SKIP() << kWhyProloguesMatter;
  std::atomic<bool> stop{false};
  const std::function<void()> nap = [] { ::usleep(20); };
  // Alternates between three frames and one large frame at the same addresses that has no return
  // addresses.
  const auto wander = [&] {
    while (!stop) {
      call_through_chain(nap);
      recorder_test_across(&nap);
    }
  };
  std::vector<DecodedEntry> walked;
  {
    ProgramThread threads[] = {ProgramThread(wander), ProgramThread(wander), ProgramThread(wander)};
    const DecodedRecording recording =
        record_one({.interval = milliseconds(1), .ticks = 1500, .mode = wire::RecordMode::kOffCpu});
    stop = true;
    for (const ProgramThread& thread : threads) {
      const DecodedThread* seen = recording.thread_of(thread.tid());
      ASSERT_NE(seen, nullptr);
      std::ranges::copy_if(seen->entries, std::back_inserter(walked),
                           [](const auto& entry) { return !entry.stack.frames.empty(); });
    }
  }
  EXPECT_FALSE(walked.empty());
  for (const DecodedEntry& entry : walked) {
    const std::vector<std::string> names = entry.stack.names();
    const bool across = std::ranges::count(names, "recorder_test_across") == 1;
    EXPECT_TRUE((entry.stack.flags & wire::kStackRootReached) != 0 && holds_chain(names) != across)
        << testing::PrintToString(names) << " flags " << entry.stack.flags;
  }
}

// Of all entries with a stack, whose number it returns.
std::size_t expect_function(const DecodedThread& thread, const std::string& function) {
  std::size_t count = 0;
  for (const DecodedEntry& entry : thread.entries) {
    if (entry.stack.frames.empty()) continue;
    ++count;
    EXPECT_THAT(entry.stack.names(), testing::Contains(function));
    EXPECT_NE(entry.sample.state, wire::ThreadState::kBlocked);
    EXPECT_TRUE((entry.stack.flags & wire::kStackRootReached) != 0);
  }
  return count;
}

TEST(Recorder, NamesTheFunctionOfARunningThread) {
#ifdef SWIPR_TSAN
  GTEST_SKIP()
      << "ThreadSanitizer delivers signals at points of its own, not where the thread runs";
#endif
  std::atomic<bool> stop{false};
  ProgramThread thread([&] { recorder_test_spin(&stop); });
  // On a busy machine the thread may not run at all in one recording.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::size_t answered = 0;
  while (answered < 10 && std::chrono::steady_clock::now() < deadline) {
    const DecodedRecording recording = record_one({.interval = milliseconds(5), .ticks = 40});
    EXPECT_FALSE(recording.damaged);
    const DecodedThread* seen = recording.thread_of(thread.tid());
    if (seen == nullptr || seen->entries.size() < 2) continue;
    const std::size_t found = expect_function(*seen, "recorder_test_spin");
    answered += found;
    // Requests that were unanswered when the recording ended have no stack.
    const bool always_ran = seen->sum_cpu() * 100 >= seen->sum_wall() * 97;
    if (always_ran) {
      EXPECT_GE(found, seen->entries.size() - 1);
    }
    if (found > 0) {
      EXPECT_GT(recording.totals.at("signals_sent"), 0u);
    }
  }
  stop = true;
  EXPECT_GE(answered, 10u);
}

TEST(Recorder, CpuOfAThreadIsWhatItsClockSays) {
  std::atomic<bool> stop{false};
  ProgramThread thread([&] { recorder_test_spin(&stop); });
  // The last reading that a tick is known to have followed.
  std::chrono::nanoseconds inner_begin{0}, inner_end{0}, latest{0};
  std::uint64_t ticks = 0;
  const auto note = [&] {
    if (agent::recorder().counters().ticks != ticks) inner_end = latest;
    ticks = agent::recorder().counters().ticks;
    latest = thread.cpu();
  };
  const std::chrono::nanoseconds outer_begin = thread.cpu();
  const DecodedRecording recording = record_one({.interval = milliseconds(5), .ticks = 40},
                                                {.after_start =
                                                     [&] {
                                                       ticks = agent::recorder().counters().ticks;
                                                       inner_begin = thread.cpu();
                                                     },
                                                 .before_ticks = note,
                                                 .meanwhile = {}});
  const std::chrono::nanoseconds outer_end = thread.cpu();
  stop = true;
  const DecodedThread* seen = recording.thread_of(thread.tid());
  ASSERT_NE(seen, nullptr);
  EXPECT_LE(seen->sum_cpu(), static_cast<std::uint64_t>((outer_end - outer_begin).count()));
  ASSERT_GT(inner_end, inner_begin);
  EXPECT_GE(seen->sum_cpu(), static_cast<std::uint64_t>((inner_end - inner_begin).count()));
  EXPECT_GE(recording.totals.at("process_cpu_ns"), seen->sum_cpu());
}

TEST(Recorder, WallTimeOfEveryThreadAddsUpToTheDuration) {
  std::atomic<bool> stop{false};
  const Pipe pipe;
  ProgramThread spinner([&] { recorder_test_spin(&stop); });
  ProgramThread napper([&] {
    while (!stop) {
      const timespec time{.tv_sec = 0, .tv_nsec = 3'000'000};
      ::nanosleep(&time, nullptr);
    }
  });
  ProgramThread reader([&] {
    char byte;
    EXPECT_EQ(::read(pipe.read_end(), &byte, 1), 1);
  });
  const DecodedRecording recording = record_one({.interval = milliseconds(2), .ticks = 150});
  stop = true;
  pipe.release();
  ASSERT_FALSE(recording.damaged);
  ASSERT_TRUE(recording.duration_ns.has_value());
  for (const int tid : {spinner.tid(), napper.tid(), reader.tid()}) {
    const DecodedThread* seen = recording.thread_of(tid);
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen->sum_wall(), *recording.duration_ns);
    EXPECT_EQ(seen->sum_ticks(), recording.totals.at("ticks"));
  }
  EXPECT_EQ(recording.totals.at("ticks") + recording.totals.at("ticks_missed"), 150u);
}

TEST(Recorder, ABlockedThreadsTicksAreOneEntry) {
  const Pipe pipe;
  ProgramThread reader([&] {
    char byte;
    EXPECT_EQ(::read(pipe.read_end(), &byte, 1), 1);
  });
  ASSERT_TRUE(reader.waits());
  const DecodedRecording recording = record_one({.interval = milliseconds(1), .ticks = 300});
  pipe.release();
  const DecodedThread* seen = recording.thread_of(reader.tid());
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->sum_ticks(), recording.totals.at("ticks"));
  // The first sample, and one entry for all other ticks (two if it took longer than a second).
  EXPECT_LE(seen->entries.size(), 3u);
}

TEST(Recorder, SeveralRecordingsRunAtTheirOwnIntervals) {
  std::atomic<bool> stop{false};
  ProgramThread spinner([&] { recorder_test_spin(&stop); });
  const auto all =
      record({{.request = {.interval = milliseconds(3), .ticks = 300}},
              {.request = {.interval = milliseconds(10), .ticks = 80}},
              {.request = {.interval = milliseconds(7), .duration = milliseconds(700)}}});
  stop = true;
  ASSERT_EQ(all.size(), 3u);
  const std::uint64_t asked[] = {300, 80, 100};
  for (std::size_t at = 0; at < all.size(); ++at) {
    ASSERT_FALSE(all[at].damaged);
    EXPECT_EQ(all[at].totals.at("ticks") + all[at].totals.at("ticks_missed"), asked[at]);
    const DecodedThread* seen = all[at].thread_of(spinner.tid());
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen->sum_wall(), *all[at].duration_ns);
    EXPECT_TRUE(std::any_of(seen->entries.begin(), seen->entries.end(), [](const auto& entry) {
      const auto names = entry.stack.names();
      return std::find(names.begin(), names.end(), "recorder_test_spin") != names.end();
    }));
  }
}

}  // namespace
}  // namespace swipr::test
