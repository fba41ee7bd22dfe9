// Signals that are pending when swipr installs or removes its handler stay pending.
#include "preload/handler/signals/pending_signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <thread>

#include "preload/handler/signal_handler.h"
#include "preload/handler/signals/disposition.h"

namespace swipr::handler {
namespace {

#ifndef SWIPR_TSAN  // its runtime delivers signals later

// SIGURG and SIGWINCH are blocked and pending, each for this thread and for the process.
class PendingSignalsTest : public testing::Test {
 protected:
  PendingSignalsTest() {
    sigemptyset(&both_);
    sigaddset(&both_, SIGURG);
    sigaddset(&both_, SIGWINCH);
    ::pthread_sigmask(SIG_BLOCK, &both_, &before_);
    reset_all();
    for (const int number : {SIGURG, SIGWINCH}) {
      ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), number);
      ::kill(::getpid(), number);
    }
    set_disposition_owner(::getpid(), SIGURG);
  }
  ~PendingSignalsTest() override {
    as_control_thread([] { restore_handler(false); });
    while (take_one() > 0) {
    }
    set_disposition_owner(0, 0);
    reset_all();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  static void reset_all() {
    const struct sigaction plain {};
    for (const int number : {SIGURG, SIGWINCH}) ::sigaction(number, &plain, nullptr);
  }
  // In a thread that blocks all signals.
  template <typename Work>
  static void as_control_thread(Work work) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread(work).join();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  int take_one() {
    const timespec now{};
    return ::sigtimedwait(&both_, nullptr, &now);
  }
  int count(int number) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    const timespec now{};
    int found = 0;
    while (::sigtimedwait(&one, nullptr, &now) == number) ++found;
    return found;
  }
  static struct sigaction programs(int number) {
    struct sigaction action {};
    exchange_program_action(number, nullptr, &action, ::sigaction);
    return action;
  }

  sigset_t both_{};
  sigset_t before_{};
};

TEST_F(PendingSignalsTest, StaysWhereTheSignalIsIgnoredByDefault) {
  as_control_thread([] {
    ASSERT_TRUE(install_handler(SIGURG));
    restore_handler(false);
  });
  struct sigaction kernels {};
  ::sigaction(SIGURG, nullptr, &kernels);
  EXPECT_EQ(kernels.sa_handler, SIG_DFL);
  const struct sigaction own = programs(SIGURG);
  constexpr int kFlags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  EXPECT_EQ(own.sa_flags & kFlags, 0);
  EXPECT_EQ(sigismember(&own.sa_mask, SIGUSR1), 0);
  EXPECT_EQ(count(SIGURG), 2);
}

TEST_F(PendingSignalsTest, StaysWhenTheHandlerMovesToAnotherSignal) {
  as_control_thread([] {
    ASSERT_TRUE(install_handler(SIGURG));
    EXPECT_TRUE(move_to(SIGWINCH));
    restore_handler(false);
  });
  EXPECT_EQ(count(SIGURG), 2);
  EXPECT_EQ(count(SIGWINCH), 2);
}

TEST_F(PendingSignalsTest, StaysWhereTheProgramIgnoresTheSignal) {
  while (take_one() > 0) {
  }
  ::signal(SIGURG, SIG_IGN);
  ::kill(::getpid(), SIGURG);
  as_control_thread([] {
    ASSERT_TRUE(install_handler(SIGURG));
    restore_handler(false);
  });
  EXPECT_EQ(programs(SIGURG).sa_handler, SIG_IGN);
  EXPECT_EQ(count(SIGURG), 1);
  const struct sigaction wanted {};
  exchange_program_action(SIGURG, &wanted, nullptr, ::sigaction);
  EXPECT_EQ(programs(SIGURG).sa_handler, SIG_DFL);
}

TEST_F(PendingSignalsTest, AHandlerThatTheProgramSetsAfterwardsIsItsOwn) {
  as_control_thread([] {
    ASSERT_TRUE(install_handler(SIGURG));
    restore_handler(false);
  });
  struct sigaction wanted {};
  wanted.sa_handler = [](int) {};
  exchange_program_action(SIGURG, &wanted, nullptr, ::sigaction);
  struct sigaction kernels {};
  ::sigaction(SIGURG, nullptr, &kernels);
  EXPECT_EQ(kernels.sa_handler, wanted.sa_handler);
  EXPECT_FALSE(is_taken(SIGURG));
}

TEST_F(PendingSignalsTest, IsInheritedByAnImageThatInheritsAnIgnoredSignal) {
  ignore_for_exec(SIGURG);
  EXPECT_EQ(programs(SIGURG).sa_handler, SIG_IGN);
  EXPECT_EQ(count(SIGURG), 2);
}

TEST_F(PendingSignalsTest, OnesOfSwiprsAreNotInherited) {
  while (take_one() > 0) {
  }
  as_control_thread([] { ASSERT_TRUE(install_handler(SIGURG)); });
  ASSERT_TRUE(send_signal(Pid{::getpid()}, Tid{static_cast<std::int32_t>(::syscall(SYS_gettid))},
                          {.sequence = 1, .slot = 0}));
  ignore_for_exec(SIGURG);
  EXPECT_EQ(count(SIGURG), 0);
}

#endif

}  // namespace
}  // namespace swipr::handler
