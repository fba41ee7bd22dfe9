// Threads at the gate: moved out of the patch, waited for, or the reason to undo it.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "preload/trace/calls/pool.h"
#include "preload/trace/gate/gate.h"
#include "preload/trace/traced_function.h"
#include "tests/unit/preload/trace/gate/forks.h"
#include "tests/unit/preload/trace/gate/program_functions.h"
#include "tests/unit/preload/trace/traced_functions.h"

// A thread is mostly in REP STOS, the second instruction of the patch, which signals interrupt.
asm(R"(.pushsection .text
.p2align 4
.globl swipr_slow_begin
.hidden swipr_slow_begin
.type swipr_slow_begin,@function
swipr_slow_begin:
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset 3,-16
	mov	%rdx, %rax
	rep stosb
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore 3
	ret
	.cfi_endproc
.size swipr_slow_begin,.-swipr_slow_begin
.popsection)");
// Fills `bytes`, which takes most of its time, and returns `value`.
extern "C" long swipr_slow_begin(char* memory, long unused, long value, std::size_t bytes);

namespace swipr::trace {
namespace {

// As the control thread: never traced, with all signals blocked while it lives.
class Gate : public testing::Test {
 protected:
  Gate() {
    install_gate_handler();
    exclude_this_thread();
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~Gate() override { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  template <typename Run>
  std::thread thread_with_signals(Run run) {
    return std::thread([this, run] {
      pthread_sigmask(SIG_SETMASK, &before_, nullptr);
      run();
    });
  }

  sigset_t before_;
};

TEST_F(Gate, ThreadsAreMovedOutOfThePatch) {
  TracedFunction& slow = traced(reinterpret_cast<void*>(&swipr_slow_begin));
  std::atomic<bool> stops{false};
  std::atomic<long> wrong{0};
  const auto work = [&] {
    std::vector<char> memory(std::size_t{1} << 20);
    for (long value = 0; !stops; ++value) {
      wrong += swipr_slow_begin(memory.data(), 0, value, memory.size()) != value;
    }
  };
  std::thread threads[] = {thread_with_signals(work), thread_with_signals(work)};
  std::uint32_t moved = 0;
  for (int round = 0; round < 2000 && moved < 3; ++round) {
    // Longer than a call: those of the round before are in the copy of the patch's instructions.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    moved += slow.attach().moved;
    EXPECT_EQ(slow.detach().status, GateStatus::kDone);
    ASSERT_TRUE(slow.is_as_before());
  }
  stops = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(moved, 0u);
}

TEST_F(Gate, IsUndoneIfAThreadCannotAnswer) {
  TracedFunction& function = traced(reinterpret_cast<void*>(&add_nine));
  std::atomic<int> tid{0};
  std::atomic<bool> stops{false};
  std::thread deaf([&] {  // inherits the mask, makes no call
    tid = static_cast<int>(::syscall(SYS_gettid));
    while (!stops) {
    }
  });
  while (tid == 0) usleep(100);
  const GateReport report = function.attach();
  EXPECT_EQ(report.status, GateStatus::kNotReached);
  EXPECT_EQ(report.thread, tid);
  EXPECT_TRUE(function.is_as_before());
  EXPECT_EQ(add_nine(1, 0, 0, 0, 0, 0, 0, 0, 0), 1);
  stops = true;
  deaf.join();
  EXPECT_EQ(function.attach().status, GateStatus::kDone);
  EXPECT_EQ(add_nine(1, 0, 0, 0, 0, 0, 0, 0, 0), 1);
  EXPECT_EQ(function.detach().status, GateStatus::kDone);
  EXPECT_TRUE(function.is_as_before());
}

// As the frame of a handler that interrupted the patch.
TEST_F(Gate, WaitsForThreadsThatWillReturnIntoThePatch) {
  TracedFunction& function = traced(reinterpret_cast<void*>(&make_large));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::atomic<bool> has_begun{false};
  const std::uint64_t inside = function.function();
  std::thread waiter = thread_with_signals([&] {
    std::array<volatile std::uint64_t, 16> words;
    for (std::size_t at = 0; at < words.size(); ++at) words[at] = inside + at;
    has_begun = true;
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    EXPECT_EQ(words[3], inside + 3);
  });
  while (!has_begun) usleep(100);
  usleep(10'000);
  EXPECT_EQ(function.attach().status, GateStatus::kNotReached);
  EXPECT_TRUE(function.is_as_before());
  EXPECT_EQ(write(ends[1], "", 1), 1);
  waiter.join();
  EXPECT_EQ(function.attach().status, GateStatus::kDone);
  EXPECT_EQ(function.detach().status, GateStatus::kDone);
  for (const int end : ends) close(end);
}

TEST_F(Gate, IsClosedForForks) {
  expect_closed_for_forks(
      traced(reinterpret_cast<void*>(&triple)), [] { return triple(2) == 6; },
      [this](auto run) { return thread_with_signals(run); });
}

}  // namespace
}  // namespace swipr::trace
