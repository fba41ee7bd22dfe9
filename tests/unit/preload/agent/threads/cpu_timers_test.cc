// Threads that run in bursts, and traces of their CPU timers in the process.
#include "preload/agent/threads/cpu_timers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include <fstream>

#include "tests/unit/preload/agent/engine/accounts.h"

namespace swipr::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr agent::RecordingRequest kUntilStopped{.interval = milliseconds(5)};

// The numbers of the timers that signal the thread, as the kernel shows them: "ID: 0", then
// "signal: 23/…", then "notify: signal/tid.TID".
std::vector<int> timers_of(int tid) {
  std::vector<int> numbers;
  std::ifstream file("/proc/self/timers");
  int number = -1;
  for (std::string word; file >> word;) {
    if (word == "ID:") file >> number;
    if (word == "signal/tid." + std::to_string(tid)) numbers.push_back(number);
  }
  return numbers;
}

// Its bursts are over before a signal arrives: its stacks are left to a timer.
class Burster {
 public:
  ~Burster() { naps_.end(); }
  bool has_used(std::chrono::nanoseconds more) {
    const auto until = thread.cpu() + more;
    return eventually([&] { return thread.cpu() >= until; });
  }

  // From now on it no longer waits.
  void stay_busy() { busy_ = true; }

 private:
  Naps naps_;
  std::atomic<bool> busy_{false};

 public:
  ProgramThread thread{[this] {
    while (naps_.nap(microseconds(busy_ ? 0 : 100))) burn(microseconds(busy_ ? 20'000 : 30));
  }};
};

std::atomic<int> urgent_signals{0};

TEST(CpuTimers, TakeStacksAndLeaveNothingBehind) {
  struct sigaction counting {};
  counting.sa_handler = [](int) { ++urgent_signals; };
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGURG, &counting, &before), 0);
  Burster burster;
  const int tid = burster.thread.tid();
  const auto meanwhile = [&] {
    EXPECT_TRUE(eventually([tid] { return !timers_of(tid).empty(); }));
    burster.stay_busy();  // on busy CPUs all bursts may be between clock interrupts
    EXPECT_TRUE(burster.has_used(milliseconds(200)));
  };
  const auto recordings = record({{.request = kUntilStopped}},
                                 {.after_start = {}, .before_ticks = {}, .meanwhile = meanwhile});
  const auto& totals = recordings.at(0).totals;
  EXPECT_GT(totals.at("cpu_timer_stacks") + totals.at("burst_tick_stacks"), 0u);
  EXPECT_TRUE(timers_of(tid).empty());
  EXPECT_TRUE(burster.has_used(milliseconds(20)));
  EXPECT_EQ(urgent_signals.load(), 0) << "the program's handler got one of swipr's";
  ::sigaction(SIGURG, &before, nullptr);
}

TEST(CpuTimers, AreToldOfWhereTicksNeverComeInTime) {
  const auto messages_after = [](std::chrono::nanoseconds used) {
    Burster burster;
    agent::RecordingRequest request = kUntilStopped;
    request.interval = milliseconds(1);
    request.max_overhead_permille = 1000;
    return record({{.request = request}},
                  {.after_start = {},
                   .before_ticks = {},
                   .meanwhile = [&] { EXPECT_TRUE(burster.has_used(used)); }})
        .at(0)
        .messages;
  };
  // Trials are 8 ms of CPU time at least, and 128 ms apart.
  EXPECT_EQ(messages_after(milliseconds(50)).find("clock interrupt"), std::string::npos);
  EXPECT_NE(messages_after(milliseconds(400)).find("clock interrupt"), std::string::npos);
}

TEST(CpuTimers, AThreadWhoseTimerIsGoneIsAskedAgain) {
  Burster burster;
  const int tid = burster.thread.tid();
  const auto meanwhile = [&] {
    EXPECT_TRUE(eventually([tid] { return !timers_of(tid).empty(); }));
    burster.stay_busy();  // every tick finds it running
    // One that has fired before it is deleted may be replaced once its stack has been taken.
    const auto until = burster.thread.cpu() + milliseconds(500);
    while (burster.thread.cpu() < until) {
      for (const int timer : timers_of(tid)) ::syscall(SYS_timer_delete, timer);
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_TRUE(burster.has_used(milliseconds(100)));
    EXPECT_TRUE(timers_of(tid).empty()) << "for good";
  };
  const auto recordings = record({{.request = kUntilStopped}},
                                 {.after_start = {}, .before_ticks = {}, .meanwhile = meanwhile});
  const DecodedThread* seen = recordings.at(0).thread_of(tid);
  ASSERT_NE(seen, nullptr);
  std::uint64_t running = 0;
  for (const DecodedEntry& entry : seen->entries) {
    if (entry.sample.state == wire::ThreadState::kRunning && entry.sample.stack_id != 0)
      running += entry.sample.cpu_ns;
  }
  EXPECT_GT(running, 50'000'000u) << "stacks that were asked for carry CPU time";
  EXPECT_GT(recordings.at(0).totals.at("signals_sent"), 0u);
}

// The limit of pending signals of a user, and timers of the program that use the quarter that swipr
// may use.
class QuarterInUse {
 public:
  QuarterInUse() {
    EXPECT_EQ(::getrlimit(RLIMIT_SIGPENDING, &before_), 0);
    rlimit four_times = before_;
    four_times.rlim_cur = 4 * timers_.size();
    EXPECT_EQ(::setrlimit(RLIMIT_SIGPENDING, &four_times), 0);
    sigevent event{};
    event.sigev_notify = SIGEV_NONE;
    for (timer_t& timer : timers_) EXPECT_EQ(::timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  }
  ~QuarterInUse() {
    release();
    ::setrlimit(RLIMIT_SIGPENDING, &before_);
  }
  void release() {
    for (const timer_t timer : timers_) ::timer_delete(timer);
    timers_.clear();
  }

 private:
  rlimit before_{};
  std::vector<timer_t> timers_ = std::vector<timer_t>(256);
};

TEST(CpuTimers, TakeNoneWhereAQuarterOfWhatMayWaitIsInUse) {
  QuarterInUse quarter;
  Burster burster;
  const int tid = burster.thread.tid();
  record({{.request = kUntilStopped}},
         {.after_start = {}, .before_ticks = {}, .meanwhile = [&] {
            const auto until = burster.thread.cpu() + milliseconds(500);
            bool taken = false;
            EXPECT_TRUE(eventually([&] {
              taken = taken || !timers_of(tid).empty();
              return burster.thread.cpu() >= until;
            }));
            EXPECT_FALSE(taken);
            quarter.release();
            EXPECT_TRUE(eventually([tid] { return !timers_of(tid).empty(); }));
          }});
}

}  // namespace
}  // namespace swipr::test
