// When a thread is signalled for its stack, and what happens to lost signals.
#include "preload/agent/threads/signal_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <semaphore>

#include "preload/handler/signal_handler.h"
#include "tests/unit/preload/agent/engine/program_threads.h"

namespace swipr::agent {

struct ThreadSignalForTests {
  // As if the thread had just blocked the signal undetected.
  static void assume_open_mask(Thread& thread) { thread.signal.mask_known_ = true; }
};

namespace {

using Asked = SignalPool::Asked;

// A thread that blocks SIGURG without libc's functions, as libc itself does, unblocks it on
// request, and computes until the end.
class MaskedThread {
 public:
  ~MaskedThread() {
    open_mask();
    stop_ = true;
  }
  Tid tid() {
    blocked_.acquire();
    blocked_.release();
    return Tid{thread_.tid()};
  }
  // Afterwards pending signals of the thread are delivered.
  void open_mask() {
    if (opened_) return;
    opened_ = true;
    open_.release();
    done_.acquire();
  }

 private:
  static void change(int how) {
    const std::uint64_t urgent = std::uint64_t{1} << (SIGURG - 1);
    ::syscall(SYS_rt_sigprocmask, how, &urgent, nullptr, sizeof urgent);
  }

  bool opened_ = false;
  std::atomic<bool> stop_{false};
  std::binary_semaphore blocked_{0}, open_{0}, done_{0};
  test::ProgramThread thread_{[this] {
    change(SIG_BLOCK);
    blocked_.release();
    open_.acquire();
    change(SIG_UNBLOCK);
    done_.release();
    test::recorder_test_spin(&stop_);
  }};
};

class SignalPoolTest : public testing::Test {
 protected:
  SignalPoolTest() {
    EXPECT_TRUE(threads_.open(Tid{0}));
    EXPECT_TRUE(pool_->open(Pid{::getpid()}));
    EXPECT_TRUE(handler::install_handler(SIGURG));
    thread_.tid = masked_.tid();
  }
  ~SignalPoolTest() override {
    masked_.open_mask();
    pool_->await_answers();
    handler::restore_handler(pool_->close());
    handler::shared.slots = others_slots_;
    threads_.close();
  }
  Asked ask(std::int64_t cpu_ns, Moment not_after = kNever) {
    return pool_->ask(0, thread_, 0, threads_.directory(), monotonic_now(), not_after, cpu_ns);
  }
  bool is_answered() {
    return test::eventually([this] {
      bool answered = false;
      pool_->collect([&](std::uint32_t, std::uint32_t, std::uint32_t, handler::Slot&) {
        SignalPool::note_answered(thread_);
        answered = true;
      });
      return answered;
    });
  }

  handler::Slot* others_slots_ = handler::shared.slots;  // the recorder's
  MaskedThread masked_;
  ThreadList threads_;
  std::unique_ptr<SignalPool> pool_ = std::make_unique<SignalPool>();
  Thread thread_;
};

TEST_F(SignalPoolTest, AThreadThatWaitsForACpuWhileItBlocksTheSignalIsAskedAsSoonAsItDoesNot) {
  // kFailed: its open run is not lost, because the thread has not run without a stack.
  for (int count = 0; count < 1000; ++count) ASSERT_EQ(ask(1'000), Asked::kFailed) << count;
  masked_.open_mask();
  EXPECT_EQ(ask(2'000), Asked::kSent);
  EXPECT_TRUE(is_answered());
}

TEST_F(SignalPoolTest, AThreadThatRunsWithTheSignalBlockedIsLookedAtAgainFromTimeToTime) {
  for (int times = 0; times < 7; ++times) {
    EXPECT_EQ(ask(times * 1'000'000), Asked::kFailed) << times;
    EXPECT_FALSE(thread_.signal.mask_is_known()) << times;
  }
  EXPECT_EQ(ask(7'000'000), Asked::kBlocked);
  EXPECT_TRUE(thread_.signal.mask_is_known());
  masked_.open_mask();
  Asked asked = Asked::kBlocked;
  int asks = 0;
  for (; asks < 200 && asked == Asked::kBlocked; ++asks) asked = ask(8'000'000);
  EXPECT_EQ(asked, Asked::kSent);
  EXPECT_GT(asks, 50);
  EXPECT_TRUE(is_answered());
}

TEST_F(SignalPoolTest, NoSignalIsSentAfterTheTimeForIt) {
  masked_.open_mask();
  ThreadSignalForTests::assume_open_mask(thread_);
  EXPECT_EQ(ask(0, monotonic_now()), Asked::kFailed);
  EXPECT_FALSE(pool_->is_waiting());
  EXPECT_EQ(ask(0, monotonic_now() + std::chrono::hours(1)), Asked::kSent);
  EXPECT_TRUE(is_answered());
}

TEST_F(SignalPoolTest, ASignalThatTheKernelHasMergedWithTheProgramsOwnIsAnsweredByThat) {
  ASSERT_EQ(::syscall(SYS_tgkill, ::getpid(), thread_.tid.value, SIGURG), 0);
  ThreadSignalForTests::assume_open_mask(thread_);
  ASSERT_EQ(ask(0), Asked::kSent);
  EXPECT_FALSE(pool_->cancel_lost(thread_, threads_.directory())) << "one still waits";
  masked_.open_mask();
  EXPECT_TRUE(is_answered());
}

TEST_F(SignalPoolTest, ASignalThatTheKernelHasDiscardedIsCancelled) {
  ThreadSignalForTests::assume_open_mask(thread_);
  ASSERT_EQ(ask(0), Asked::kSent);
  EXPECT_FALSE(pool_->cancel_lost(thread_, threads_.directory())) << "it still waits";
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  struct sigaction own {};
  ::sigaction(SIGURG, &ignored, &own);
  ::sigaction(SIGURG, &own, nullptr);
  masked_.open_mask();
  EXPECT_TRUE(pool_->cancel_lost(thread_, threads_.directory()));
  EXPECT_FALSE(pool_->is_asked_for(0));
  EXPECT_EQ(ask(0), Asked::kSent);
  EXPECT_TRUE(is_answered());
}

}  // namespace
}  // namespace swipr::agent
