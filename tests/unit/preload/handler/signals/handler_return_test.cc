#include "preload/handler/signals/handler_return.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "preload/handler/signal_handler.h"

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

[[gnu::noinline]] std::uint64_t kept_registers_after_signal() {
  std::uint64_t sum = 0;
  // Everything that the interrupted code may rely on, including flags and red zone.
  asm volatile(
      "mov $11, %%rbx\n mov $12, %%r12\n mov $13, %%r13\n mov $14, %%r14\n mov $15, %%r15\n"
      "mov $1, %%r8\n mov $2, %%r9\n mov $3, %%r10\n"
      "movq $77, -120(%%rsp)\n"
      "mov %1, %%eax\n syscall\n"
      "mov %%rbx, %0\n add %%r12, %0\n add %%r13, %0\n add %%r14, %0\n add %%r15, %0\n"
      "add %%r8, %0\n add %%r9, %0\n add %%r10, %0\n add -120(%%rsp), %0\n"
      : "=&r"(sum)
      : "i"(SYS_tkill), "D"(::syscall(SYS_gettid)), "S"(SIGUSR1)
      : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory");
  return sum;
}

TEST_F(HandlerReturnTest, TheInterruptedCodeGoesOnAsItWas) {
  struct sigaction wanted {};
  wanted.sa_handler = on_plain;
  ASSERT_EQ(put_program_handler(SIGUSR1, wanted), 0);
  EXPECT_EQ(kept_registers_after_signal(), 11u + 12 + 13 + 14 + 15 + 1 + 2 + 3 + 77);
}

std::uint8_t* locked_page = nullptr;

// V8 calls functions so, and they find their code by rcx. A fault at the first instruction is a
// signal there.
[[gnu::noinline]] std::uint64_t rcx_in_a_function_called_by_it() {
  std::uint64_t seen = 0;
  asm volatile(
      "lea 1f(%%rip), %%rcx\n jmp *%%rcx\n"
      "1: movb $1, (%1)\n"
      "lea 1b(%%rip), %%rax\n sub %%rax, %%rcx\n mov %%rcx, %0\n"
      : "=&r"(seen)
      : "r"(locked_page)
      : "rax", "rcx", "cc", "memory");
  return seen;
}

TEST_F(HandlerReturnTest, AFunctionThatIsCalledByRcxKeepsIt) {
#if defined(SWIPR_TSAN)
  GTEST_SKIP() << "ThreadSanitizer has a handler of its own";
#endif
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const page = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  locked_page = static_cast<std::uint8_t*>(page);
  struct sigaction wanted {};
  wanted.sa_handler = [](int) { ::mprotect(locked_page, 1, PROT_READ | PROT_WRITE); };
  struct sigaction before {};
  ::sigaction(SIGSEGV, nullptr, &before);
  ASSERT_EQ(put_program_handler(SIGSEGV, wanted), 0);
  EXPECT_EQ(rcx_in_a_function_called_by_it(), 0u);
  EXPECT_EQ(*locked_page, 1);
  ::sigaction(SIGSEGV, &before, nullptr);
  ::munmap(page, size);
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
  kept_registers_after_signal();
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
