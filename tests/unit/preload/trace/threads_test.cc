// Traced calls in threads, coroutines, handlers of signals and children.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "preload/trace/calls/pool.h"
#include "tests/unit/preload/trace/traced.h"
#include "tests/unit/preload/trace/traced_functions.h"

namespace swipr::trace {
namespace {

using TracedThreads = TracedTest;

// They follow stacks by their addresses.
#if defined(SWIPR_ASAN) || defined(SWIPR_TSAN)
constexpr bool kStacksAreWatched = true;
#else
constexpr bool kStacksAreWatched = false;
#endif

TEST_F(TracedThreads, CountAllCalls) {
  const Traced traced(&triple), deep(&recurse);
  constexpr int kThreads = 8;
  constexpr long kRounds = 20'000;
  std::atomic<long> wrong{0};
  std::vector<std::thread> threads;
  for (int index = 0; index < kThreads; ++index) {
    threads.emplace_back([&] {
      for (long round = 0; round < kRounds; ++round) {
        wrong += triple(round) != 3 * round;
        wrong += recurse(round % 20) != round % 20;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(traced.calls(), static_cast<std::uint64_t>(kThreads) * kRounds);
  EXPECT_EQ(deep.histogram().untraced, 0u);
  EXPECT_EQ(opened(), 0u);
}

// Without reclaim_ended() the places of threads are used up, and then the thunks.
TEST_F(TracedThreads, LeaveNothingBehind) {
  const Traced traced(&triple);
  constexpr std::size_t kRounds = 3 * kThreadCount;
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::thread([] { EXPECT_EQ(triple(5), 15); }).join();
    if (round % 100 == 99) reclaim_ended();
  }
  EXPECT_EQ(traced.calls(), kRounds);
  EXPECT_EQ(traced.histogram().untraced, 0u);
}

struct Coroutine {
  static constexpr std::size_t kStackBytes = 256 << 10;
  ucontext_t context{};
  std::vector<std::byte> stack = std::vector<std::byte>(kStackBytes);
  bool is_done = false;
};
struct Coroutines {
  ucontext_t scheduler{};
  std::array<Coroutine, 6> all;
  std::size_t current = 0;
  long sum = 0;
} coroutines;

void yield(void*) {
  swapcontext(&coroutines.all[coroutines.current].context, &coroutines.scheduler);
}

void coroutine_main() {
  for (int round = 0; round < 100; ++round) {
    coroutines.sum += call_inside(round % 9, &yield, nullptr);
    try {
      coroutines.sum += rethrow(round);
    } catch (const std::runtime_error&) {
      coroutines.sum += 1000;
    }
  }
  coroutines.all[coroutines.current].is_done = true;
  yield(nullptr);
}

TEST_F(TracedThreads, CoroutinesMayInterleave) {
  if (kStacksAreWatched) GTEST_SKIP();
  const Traced inside(&call_inside), thrower(&throw_sometimes), outer(&rethrow);
  for (Coroutine& coroutine : coroutines.all) {
    getcontext(&coroutine.context);
    coroutine.context.uc_stack.ss_sp = coroutine.stack.data();
    coroutine.context.uc_stack.ss_size = coroutine.stack.size();
    makecontext(&coroutine.context, &coroutine_main, 0);
  }
  unsigned random = 1;
  for (std::size_t done = 0; done < coroutines.all.size();) {
    random = random * 1664525u + 1013904223u;
    coroutines.current = (random >> 20) % coroutines.all.size();
    Coroutine& coroutine = coroutines.all[coroutines.current];
    if (coroutine.is_done) continue;
    swapcontext(&coroutines.scheduler, &coroutine.context);
    done += coroutine.is_done;
  }
  long wanted = 0;
  for (int round = 0; round < 100; ++round) {
    wanted += round % 9 + 1 + (round % 3 == 0 ? 1000 : round + 2);
  }
  EXPECT_EQ(coroutines.sum, wanted * static_cast<long>(coroutines.all.size()));
  EXPECT_EQ(thrower.histogram().unwound, 34 * coroutines.all.size());
  EXPECT_EQ(outer.histogram().unwound, 34 * coroutines.all.size());
  EXPECT_LE(opened(), 8u);
}

// A coroutine that ends a call in another thread than the one that began it.
TEST_F(TracedThreads, ACallMayEndInAnotherThread) {
  if (kStacksAreWatched) GTEST_SKIP();
  const Traced traced(&call_inside);
  static Coroutine moved;
  static ucontext_t back;
  static long result;
  result = 0;
  getcontext(&moved.context);
  moved.context.uc_stack.ss_sp = moved.stack.data();
  moved.context.uc_stack.ss_size = moved.stack.size();
  const auto leave = [](void*) { swapcontext(&moved.context, &back); };
  static void (*leave_function)(void*) = leave;
  makecontext(
      &moved.context,
      +[] {
        result = call_inside(5, leave_function, nullptr);
        leave_function(nullptr);
      },
      0);
  std::thread([] { swapcontext(&back, &moved.context); }).join();
  EXPECT_EQ(opened(), 6u);
  reclaim_ended();  // the first thread
  std::thread([] { swapcontext(&back, &moved.context); }).join();
  EXPECT_EQ(result, 6);
  EXPECT_EQ(opened(), 0u);
  EXPECT_EQ(traced.calls(), 6u);
}

std::atomic<long> handled{0};

// The handler throws and jumps inside, on a stack of its own.
void on_signal(int) {
  handled += triple(7) == 21 && recurse(3) == 3;
  try {
    rethrow(3);
    handled = -1'000'000;
  } catch (const std::runtime_error&) {
  }
}

TEST_F(TracedThreads, HandlersMayInterruptAnything) {
  if (kStacksAreWatched) GTEST_SKIP();
  const Traced traced(&triple), deep(&recurse), outer(&rethrow), thrower(&throw_sometimes);
  std::vector<std::byte> alternate(256 << 10);
  const stack_t stack{.ss_sp = alternate.data(), .ss_flags = 0, .ss_size = alternate.size()};
  stack_t before{};
  ASSERT_EQ(sigaltstack(&stack, &before), 0);
  struct sigaction action {};
  action.sa_handler = &on_signal;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  ASSERT_EQ(sigaction(SIGALRM, &action, nullptr), 0);
  const itimerval often{.it_interval = {0, 200}, .it_value = {0, 200}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  long wrong = 0;
  for (long round = 0; handled.load() < 500 && handled.load() >= 0; ++round) {
    wrong += triple(round) != 3 * round;
    wrong += recurse(round % 10) != round % 10;
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  signal(SIGALRM, SIG_DFL);
  sigaltstack(&before, nullptr);
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(handled.load(), 500);
  EXPECT_EQ(opened(), 0u);
}

void leave_thread(void* value) { pthread_exit(value); }

TEST_F(TracedThreads, MayEndInsideATracedCall) {
  if (kStacksAreWatched) GTEST_SKIP();
  const Traced traced(&call_inside);
  pthread_t thread;
  void* result = nullptr;
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void* value) -> void* {
                  call_inside(3, &leave_thread, value);
                  return nullptr;
                },
                &result),
            0);
  pthread_join(thread, &result);
  EXPECT_EQ(result, &result);
  EXPECT_EQ(traced.histogram().unwound, 4u);
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void* value) -> void* {
                  call_inside(
                      3,
                      [](void*) {
                        for (;;) pause();
                      },
                      value);
                  return nullptr;
                },
                nullptr),
            0);
  while (opened() < 4) usleep(1000);
  pthread_cancel(thread);
  pthread_join(thread, &result);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(traced.histogram().unwound, 8u);
  EXPECT_EQ(opened(), 0u);
}

// The child runs in the parent's memory, with the parent's thread-local variables.
TEST_F(TracedThreads, AChildOfVforkClaimsNoPlace) {
  const Traced traced(&triple);
  std::thread([&] {
    const pid_t child = vfork();
    if (child == 0) _exit(triple(11) == 33 ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(traced.calls(), 0u);
    EXPECT_EQ(triple(2), 6);
    EXPECT_EQ(traced.calls(), 1u);
  }).join();
}

TEST_F(TracedThreads, ChildrenOfForkContinue) {
  const Traced traced(&triple), deep(&recurse);
  EXPECT_EQ(triple(1), 3);
  const pid_t child = fork();
  if (child == 0) _exit(triple(11) == 33 && recurse(50) == 50 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace swipr::trace
