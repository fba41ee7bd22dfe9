#include "preload/handler/signals/handler_return.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "preload/handler/signal_handler.h"
#include "preload/handler/signals/disposition.h"

namespace swipr::handler {
namespace {

int seen_number = 0;
int seen_code = 0;
void on_plain(int number) { seen_number = number; }
void on_info(int number, siginfo_t* info, void*) {
  seen_number = number;
  seen_code = info->si_code;
}

class HandlerReturnTest : public testing::Test {
 protected:
  HandlerReturnTest() { ::sigaction(SIGUSR1, nullptr, &before_); }
  ~HandlerReturnTest() override { ::sigaction(SIGUSR1, &before_, nullptr); }
  static bool is_marked() {
    KernelAction action;
    return exchange_kernel_action(SIGUSR1, nullptr, &action) && returns_here(action);
  }
  struct sigaction before_ {};
};

TEST_F(HandlerReturnTest, TheKernelHasWhatTheProgramAskedFor) {
  struct sigaction wanted {};
  wanted.sa_handler = on_plain;
  wanted.sa_flags = SA_RESTART | SA_ONSTACK;
  sigaddset(&wanted.sa_mask, SIGUSR2);
  ASSERT_EQ(put_program_handler(SIGUSR1, wanted), 0);
  EXPECT_TRUE(is_marked());
  struct sigaction current {};
  ::sigaction(SIGUSR1, nullptr, &current);
  EXPECT_EQ(current.sa_handler, on_plain);
  EXPECT_EQ(current.sa_flags & ~0x04000000, SA_RESTART | SA_ONSTACK);  // SA_RESTORER is libc's
  EXPECT_EQ(sigismember(&current.sa_mask, SIGUSR2), 1);
  ::raise(SIGUSR1);
  EXPECT_EQ(seen_number, SIGUSR1);
}

TEST_F(HandlerReturnTest, AnInstalledHandlerIsRedirected) {
  struct sigaction wanted {};
  wanted.sa_sigaction = on_info;
  wanted.sa_flags = SA_SIGINFO;
  ASSERT_EQ(::sigaction(SIGUSR1, &wanted, nullptr), 0);
  EXPECT_FALSE(is_marked());
  redirect_return(SIGUSR1);
  EXPECT_TRUE(is_marked());
  ::raise(SIGUSR1);
  EXPECT_EQ(seen_code, SI_TKILL);
}

TEST_F(HandlerReturnTest, DefaultAndIgnoredStayWhatTheyAre) {
  for (const sighandler_t kept : {SIG_DFL, SIG_IGN}) {
    ::signal(SIGUSR1, kept);
    redirect_return(SIGUSR1);
    EXPECT_FALSE(is_marked());
    EXPECT_EQ(::signal(SIGUSR1, kept), kept);
  }
}

bool handler_returns_here(int number) {
  KernelAction action;
  return exchange_kernel_action(number, nullptr, &action) && returns_here(action);
}

TEST_F(HandlerReturnTest, HandlersThatSystemPutsBackAreRedirected) {
  struct sigaction before {};
  struct sigaction wanted {};
  wanted.sa_handler = on_plain;
  ::sigaction(SIGINT, nullptr, &before);
  ASSERT_EQ(put_program_handler(SIGINT, wanted), 0);
  expect_lost_returns();
  EXPECT_FALSE(redirect_lost_return(SIGTERM));
  for (void (*redirect)() :
       {+[] { redirect_lost_returns(); }, +[] { EXPECT_TRUE(redirect_lost_return(SIGINT)); }}) {
    ASSERT_EQ(std::system("true"), 0);
    EXPECT_FALSE(handler_returns_here(SIGINT));
    redirect();
    EXPECT_TRUE(handler_returns_here(SIGINT));
    seen_number = 0;
    ::raise(SIGINT);
    EXPECT_EQ(seen_number, SIGINT);
  }
  ::sigaction(SIGINT, &before, nullptr);
}

TEST_F(HandlerReturnTest, WhoHoldsTheLockRedirectsIt) {
  struct sigaction before {};
  struct sigaction wanted {};
  wanted.sa_handler = on_plain;
  ASSERT_EQ(::sigaction(SIGINT, &wanted, &before), 0);
  expect_lost_returns();
  {
    const DispositionLock lock;
    EXPECT_TRUE(redirect_lost_return(SIGINT));
    EXPECT_FALSE(handler_returns_here(SIGINT));
  }
  EXPECT_TRUE(redirect_lost_return(SIGINT));
  EXPECT_TRUE(handler_returns_here(SIGINT));
  ::sigaction(SIGINT, &before, nullptr);
}

void* outermost_frame() {
  void* frames[64];
  const int count = ::backtrace(frames, 64);
  return frames[count - 1];
}
void* seen_outermost = nullptr;

TEST_F(HandlerReturnTest, UnwindersPassIt) {
  struct sigaction wanted {};
  wanted.sa_handler = [](int) { seen_outermost = outermost_frame(); };
  ASSERT_EQ(put_program_handler(SIGUSR1, wanted), 0);
  ::raise(SIGUSR1);
  EXPECT_EQ(seen_outermost, outermost_frame());
}

std::atomic<int> handled{0};

// A thread waits in poll repeatedly. The program's signals reach it there while swipr's are sent as
// fast as possible. Each of the program's signals ends a wait, none of swipr's does.
class ForeignSignalsTest : public testing::TestWithParam<int> {
 protected:
  static constexpr int kSignalCount = 3000;

  void SetUp() override {
#ifdef SWIPR_TSAN
    GTEST_SKIP() << "ThreadSanitizer runs handlers later, with a copy of the context";
#endif
    shared.slots = slots_.get();
    ASSERT_TRUE(install_handler(SIGURG));
  }
  ~ForeignSignalsTest() override {
    restore_handler(false);
    forget_after_fork();
  }

  void wait_for_all() {
    tid_ = static_cast<std::int32_t>(::syscall(SYS_gettid));
    while (ended_ < kSignalCount) {
      if (::poll(nullptr, 0, -1) != -1 || errno != EINTR || handled != ended_ + 1) ++wrong_;
      ++ended_;
    }
  }
  void pester() {
    for (std::uint64_t sequence = 1; ended_ < kSignalCount; ++sequence) {
      arm_slot(slots_[0], sequence);
      if (!send_signal(Pid{::getpid()}, Tid{tid_}, {.sequence = sequence, .slot = 0})) continue;
      while (ended_ < kSignalCount && slot_status(slots_[0], sequence) != SlotStatus::kDone)
        std::this_thread::yield();
    }
  }
  // Once the thread sleeps it is inside poll until that returns.
  bool is_asleep() const {
    std::ifstream file("/proc/self/task/" + std::to_string(tid_) + "/stat");
    std::string text;
    std::getline(file, text);
    return text.find(") S ") != std::string::npos;
  }
  // False: the signal was handled and the wait continued.
  bool end_wait(int number) {
    const int before = ended_;
    while (!is_asleep()) std::this_thread::yield();
    ::syscall(SYS_tgkill, ::getpid(), tid_.load(), number);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (ended_ == before && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    return ended_ != before;
  }

  std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(kSlotCount);
  std::atomic<std::int32_t> tid_{0};
  std::atomic<int> ended_{0};
  std::atomic<int> wrong_{0};
};

TEST_P(ForeignSignalsTest, EachEndsTheWaitThatItMeets) {
  handled = 0;
  struct sigaction wanted {};
  wanted.sa_handler = [](int) { ++handled; };
  wanted.sa_flags = SA_RESTART;
  sigaddset(&wanted.sa_mask, SIGURG);  // swipr's own waits until the handler has returned
  struct sigaction before {};
  ::sigaction(GetParam(), nullptr, &before);
  ASSERT_EQ(put_program_handler(GetParam(), wanted), 0);
  std::thread waiter([this] { wait_for_all(); });
  while (tid_ == 0) std::this_thread::yield();
  std::thread pesterer([this] { pester(); });
  int lost = 0;
  while (ended_ < kSignalCount) lost += end_wait(GetParam()) ? 0 : 1;
  pesterer.join();
  waiter.join();
  ::sigaction(GetParam(), &before, nullptr);
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(wrong_, 0);
}

// The kernel delivers lower numbers first: one before swipr's, one after it.
INSTANTIATE_TEST_SUITE_P(LowerAndHigher, ForeignSignalsTest, testing::Values(SIGUSR1, 34));

}  // namespace
}  // namespace swipr::handler
