#include "preload/handler/signal_handler.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "preload/handler/signals/disposition.h"

namespace swipr::handler {
namespace {

Pid self() { return Pid{::getpid()}; }
Tid self_thread() { return Tid{static_cast<std::int32_t>(::syscall(SYS_gettid))}; }

struct sigaction action_of(int number) {
  struct sigaction action {};
  ::sigaction(number, nullptr, &action);
  return action;
}

class SignalHandlerTest : public testing::Test {
 protected:
  SignalHandlerTest() {
    shared.slots = slots_.get();
    const unwind::CodeRange everything{.start = 0, .end = ~std::uint64_t{0} >> 1};
    range_ = everything;
    shared.code_map = &map_;
  }
  ~SignalHandlerTest() override {
    restore_handler(false);
    forget_after_fork();
  }
  std::uint64_t send(std::uint64_t sequence) {
    arm_slot(slots_[0], sequence);
    EXPECT_TRUE(send_signal(self(), self_thread(), {.sequence = sequence, .slot = 0}));
    return sequence;
  }

  std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(kSlotCount);
  unwind::CodeRange range_;
  unwind::CodeMap map_{std::span<const unwind::CodeRange>(&range_, 1)};
};

TEST_F(SignalHandlerTest, AnswersWithTheStackAndRegistersOfTheInterruptedCode) {
  ASSERT_TRUE(install_handler(SIGURG));
  send(1);  // delivered before the system call returns
  ASSERT_EQ(slot_status(slots_[0], 1), SlotStatus::kDone);
  const Slot& slot = slots_[0];
  ASSERT_GE(slot.frames.frame_count, 1u);
  EXPECT_EQ(slot.frames.pcs[0], slot.registers.values[unwind::kPcRegister]);
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  EXPECT_LT(here - slot.registers.values[unwind::kStackRegister], 4096u);
}

TEST_F(SignalHandlerTest, KeepsErrno) {
  ASSERT_TRUE(install_handler(SIGURG));
  arm_slot(slots_[0], 1);
  errno = ELOOP;
  ASSERT_TRUE(send_signal(self(), self_thread(), {.sequence = 1, .slot = 0}));
  EXPECT_EQ(errno, ELOOP);
}

TEST_F(SignalHandlerTest, ACancelledSignalIsCountedAsStray) {
  ASSERT_TRUE(install_handler(SIGURG));
  const std::uint64_t before = shared.strays;
  arm_slot(slots_[0], 1);
  ASSERT_TRUE(try_cancel_slot(slots_[0], 1));
  ASSERT_TRUE(send_signal(self(), self_thread(), {.sequence = 1, .slot = 0}));
  EXPECT_EQ(shared.strays, before + 1);
}

#ifndef SWIPR_TSAN  // its runtime makes system calls of its own
// Only the system calls that return from a handler, and end the process.
void allow_hardly_anything() {
  constexpr unsigned kAllowed[] = {SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_exit_group};
  sock_filter code[2 * std::size(kAllowed) + 2];
  std::size_t at = 0;
  code[at++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (const unsigned number : kAllowed) {
    code[at++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    code[at++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  code[at++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  const sock_fprog program{static_cast<unsigned short>(at), code};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

TEST_F(SignalHandlerTest, ALateSignalMakesNoSystemCall) {
  ASSERT_TRUE(install_handler(SIGURG));
  arm_slot(slots_[0], 1);
  ASSERT_TRUE(try_cancel_slot(slots_[0], 1));
  const pid_t child = ::fork();
  if (child == 0) {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGURG);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    send_signal(self(), self_thread(), {.sequence = 1, .slot = 0});
    allow_hardly_anything();
    ::syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &signals, nullptr, 8);
    ::syscall(SYS_exit_group, 7);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}
#endif

TEST_F(SignalHandlerTest, ProgramsThatWantTheirInterruptionKeepIt) {
  struct sigaction own {};
  own.sa_handler = SIG_IGN;
  struct sigaction before {};
  ::sigaction(SIGURG, &own, &before);
  ASSERT_TRUE(install_handler(SIGURG));
  EXPECT_TRUE(restarts_calls());
  restore_handler(false);
  own.sa_handler = [](int) {};
  ::sigaction(SIGURG, &own, nullptr);
  ASSERT_TRUE(install_handler(SIGURG));
  EXPECT_FALSE(restarts_calls());
  restore_handler(false);
  ::sigaction(SIGURG, &before, nullptr);
}

int chained = 0;
bool chained_with_mask = false;
void on_chained(int) {
  ++chained;
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  chained_with_mask = sigismember(&mask, SIGUSR2) == 1;
}

TEST_F(SignalHandlerTest, ForeignSignalsReachTheProgramsHandlerWithItsMask) {
  struct sigaction own {};
  own.sa_handler = on_chained;
  sigaddset(&own.sa_mask, SIGUSR2);
  struct sigaction before {};
  ::sigaction(SIGURG, &own, &before);
  chained = 0;
  ASSERT_TRUE(install_handler(SIGURG));
  ::raise(SIGURG);
  EXPECT_EQ(chained, 1);
  EXPECT_TRUE(chained_with_mask);
  send(1);
  EXPECT_EQ(chained, 1);
  restore_handler(false);
  EXPECT_EQ(action_of(SIGURG).sa_handler, &on_chained);
  ::sigaction(SIGURG, &before, nullptr);
}

// If two instances of a signal are pending for a thread, the kernel keeps one: here the program's.
TEST_F(SignalHandlerTest, AForeignSignalAnswersForSwiprsAndReachesTheProgram) {
  struct sigaction own {};
  own.sa_handler = on_chained;
  struct sigaction before {};
  ::sigaction(SIGURG, &own, &before);
  chained = 0;
  ASSERT_TRUE(install_handler(SIGURG));
  set_target(0, self_thread());
  arm_slot(slots_[0], 1);
  ::raise(SIGURG);
  EXPECT_EQ(slot_status(slots_[0], 1), SlotStatus::kDone);
  EXPECT_TRUE(slots_[0].bare);
  EXPECT_EQ(chained, 1);
  set_target(0, Tid{0});
  restore_handler(false);
  ::sigaction(SIGURG, &before, nullptr);
}

TEST_F(SignalHandlerTest, WhatTheProgramsHandlerDoesToErrnoStays) {
#ifdef SWIPR_TSAN
  GTEST_SKIP() << "ThreadSanitizer keeps errno around handlers";
#endif
  struct sigaction own {};
  own.sa_handler = [](int) { errno = EPROTO; };
  struct sigaction before {};
  ::sigaction(SIGURG, &own, &before);
  ASSERT_TRUE(install_handler(SIGURG));
  errno = ELOOP;
  ::raise(SIGURG);
  EXPECT_EQ(errno, EPROTO);
  restore_handler(false);
  ::sigaction(SIGURG, &before, nullptr);
}

TEST_F(SignalHandlerTest, TimersOfTheProgramReachItsHandler) {
  struct sigaction own {};
  own.sa_handler = on_chained;
  struct sigaction before {};
  ::sigaction(SIGURG, &own, &before);
  chained = 0;
  ASSERT_TRUE(install_handler(SIGURG));
  sigset_t open;
  sigset_t urgent;
  sigemptyset(&urgent);
  sigaddset(&urgent, SIGURG);
  ::pthread_sigmask(SIG_BLOCK, &urgent, &open);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGURG;
  event.sigev_value.sival_ptr = &event;
  timer_t timer{};
  ASSERT_EQ(::timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  const itimerspec once{{0, 0}, {0, 1}};
  ::timer_settime(timer, 0, &once, nullptr);
  const timespec moment{0, 1'000'000};
  for (int tries = 0; tries < 1000 && chained == 0; ++tries) ::ppoll(nullptr, 0, &moment, &open);
  EXPECT_EQ(chained, 1);
  ::timer_delete(timer);
  ::pthread_sigmask(SIG_SETMASK, &open, nullptr);
  restore_handler(false);
  ::sigaction(SIGURG, &before, nullptr);
}

TEST_F(SignalHandlerTest, ForeignSignalsWithoutAHandlerDoWhatTheyDidBefore) {
  ASSERT_TRUE(install_handler(SIGURG));
  ::raise(SIGURG);  // ignored by default
  restore_handler(false);
  EXPECT_EQ(action_of(SIGURG).sa_handler, SIG_DFL);
  EXPECT_EXIT(
      {
        install_handler(SIGUSR1);
        ::raise(SIGUSR1);
        ::_exit(0);
      },
      testing::KilledBySignal(SIGUSR1), "");
}

TEST_F(SignalHandlerTest, AHandlerThatTheProgramPutThereStays) {
  struct sigaction own {};
  own.sa_handler = on_chained;
  const struct sigaction before = action_of(SIGURG);
  ASSERT_TRUE(install_handler(SIGURG));
  EXPECT_FALSE(retake_handler());
  ::sigaction(SIGURG, &own, nullptr);
  restore_handler(false);
  EXPECT_EQ(action_of(SIGURG).sa_handler, &on_chained);
  ::sigaction(SIGURG, &before, nullptr);
}

TEST_F(SignalHandlerTest, ASignalThatTheProgramHandlesIsNotTaken) {
  struct sigaction own {};
  own.sa_handler = on_chained;
  struct sigaction before {};
  ASSERT_TRUE(install_handler(SIGURG));
  ::sigaction(SIGWINCH, &own, &before);
  EXPECT_FALSE(move_to(SIGWINCH));
  EXPECT_EQ(action_of(SIGWINCH).sa_handler, &on_chained);
  EXPECT_EQ(installed_signal(), SIGURG);
  ::sigaction(SIGWINCH, &before, nullptr);
  EXPECT_TRUE(move_to(SIGWINCH));
  EXPECT_EQ(action_of(SIGURG).sa_handler, SIG_DFL);
  EXPECT_EQ(installed_signal(), SIGWINCH);
}

TEST_F(SignalHandlerTest, ADeadlySignalKeepsTheHandlerWhileOneMayBePending) {
  const struct sigaction before = action_of(SIGUSR1);
  ASSERT_TRUE(install_handler(SIGUSR1));
  restore_handler(true);
  EXPECT_NE(action_of(SIGUSR1).sa_handler, SIG_DFL);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(SignalHandlerTest, APendingSignalMeetsSwiprsHandler) {
  const struct sigaction before = action_of(SIGURG);
  ASSERT_TRUE(install_handler(SIGURG));
  restore_handler(true);
  EXPECT_NE(action_of(SIGURG).sa_handler, SIG_DFL);
  restore_handler(false);
  EXPECT_EQ(action_of(SIGURG).sa_handler, SIG_DFL);
  struct sigaction own {};
  own.sa_handler = on_chained;
  ::sigaction(SIGURG, &own, nullptr);
  ASSERT_TRUE(install_handler(SIGURG));
  restore_handler(true);
  EXPECT_NE(action_of(SIGURG).sa_handler, &on_chained);
  restore_handler(false);
  EXPECT_EQ(action_of(SIGURG).sa_handler, &on_chained);
  ::sigaction(SIGURG, &before, nullptr);
}

// The handler must not overflow a small alternate stack: its own frames, from the signal frame to
// the walk, take at most 512 bytes each; with the kernel's frame (3.4 KB with AVX-512) and the walk
// 8 KiB are sufficient (scripts/check_handler_stack adds up its frames).
TEST_F(SignalHandlerTest, RunsOnASmallAlternateStack) {
#ifdef SWIPR_ASAN
  constexpr std::size_t kBytes = 16384;  // red zones in each frame, calls at each access
#else
  constexpr std::size_t kBytes = 8192;
#endif
  auto memory = std::make_unique<std::byte[]>(kBytes + 4096);
  std::fill_n(memory.get(), kBytes + 4096, std::byte{0x5a});
  stack_t stack{};
  stack.ss_sp = memory.get() + 4096;
  stack.ss_size = kBytes;
  stack_t before{};
  if (::sigaltstack(&stack, &before) != 0) GTEST_SKIP() << "signal frames are larger here";
  ASSERT_TRUE(install_handler(SIGURG));
  send(1);
  ::sigaltstack(&before, nullptr);
  EXPECT_EQ(slot_status(slots_[0], 1), SlotStatus::kDone);
  for (std::size_t at = 0; at < 4096; ++at) ASSERT_EQ(memory[at], std::byte{0x5a}) << at;
  const auto is_written = [](std::byte byte) { return byte != std::byte{0x5a}; };
  EXPECT_TRUE(std::any_of(memory.get() + 4096, memory.get() + 4096 + kBytes, is_written));
}

}  // namespace
}  // namespace swipr::handler
