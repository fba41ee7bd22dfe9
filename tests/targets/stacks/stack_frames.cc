// Frames that are hard to step over: realigned, huge, many, smashed, interrupted by signals, on
// stacks of their own.
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include <array>
#include <utility>

#include "tests/targets/stacks/stack_shape.h"

namespace {

std::size_t volatile some_bytes = 40;
int volatile yes = 1;

// Overwrites what the calling function has saved: `words` of {frame pointer, return address}.
TARGET_INLINE void smash(void* frame_address, std::uint64_t frame, std::uint64_t return_address) {
  auto* const saved = static_cast<volatile std::uint64_t*>(frame_address);
  if (frame != 0) saved[0] = frame;
  if (return_address != 0) saved[1] = return_address;
}
constexpr std::uint64_t kNowhere = 0x4141'4141'4141'4141;  // not even canonical
constexpr std::uint64_t kUnmapped = 0x1000;

}  // namespace

STACK_LEAF(realigned_leaf)
TARGET_FRAME int realigned_middle() {
  alignas(64) volatile char aligned[64];
  auto* const more = static_cast<volatile char*>(alloca(some_bytes));
  aligned[0] = 1;
  more[0] = 1;
  return realigned_leaf() + aligned[0] + more[0];
}
STACK_LINK(realigned_outer, realigned_middle())

// The calling function's frame is gone, so only its own and its callee's names are certain.
STACK_LEAF(smashed_leaf)
TARGET_FRAME int smashed_return() {
  smash(__builtin_frame_address(0), kNowhere, kNowhere);
  return smashed_leaf() + yes;
}
STACK_LINK(smashed_return_outer, smashed_return())

TARGET_FRAME int smashed_unmapped() {
  smash(__builtin_frame_address(0), kUnmapped, kUnmapped);
  return smashed_leaf() + yes;
}
STACK_LINK(smashed_unmapped_outer, smashed_unmapped())

// The return address is whole; whose caller's frame depends on the frame pointer is lost beyond.
TARGET_FRAME int smashed_frame() {
  smash(__builtin_frame_address(0), kNowhere, 0);
  return smashed_leaf() + yes;
}
TARGET_FRAME int smashed_frame_middle() {
  auto* const more = static_cast<volatile char*>(alloca(some_bytes));  // CFA = rbp in any build
  more[0] = 1;
  return smashed_frame() + more[0];
}
STACK_LINK(smashed_frame_outer, smashed_frame_middle())

// A chain of frame pointers that closes on itself.
TARGET_FRAME int smashed_loop() {
  void* const own = __builtin_frame_address(0);
  smash(own, reinterpret_cast<std::uint64_t>(own), 0);
  return smashed_leaf() + yes;
}
TARGET_FRAME int smashed_loop_middle() {
  auto* const more = static_cast<volatile char*>(alloca(some_bytes));
  more[0] = 1;
  return smashed_loop() + more[0];
}
STACK_LINK(smashed_loop_outer, smashed_loop_middle())

STACK_LEAF(big_leaf)
TARGET_FRAME int huge_frame() {
  volatile char local[320 * 1024];
  local[0] = 1;
  local[sizeof local - 1] = 1;
  return big_leaf() + local[0];
}
TARGET_FRAME int big_frame(int left) {
  volatile char local[3 * 1024];
  local[0] = 1;
  return (left == 1 ? huge_frame() : big_frame(left - 1)) + local[0];
}
STACK_LINK(big_outer, big_frame(30))

// A thousand functions, each called again and again.
STACK_LEAF(deep_leaf)
namespace {
using DeepCall = int (*)(int);
extern const std::array<DeepCall, 1000> deep_calls;

TARGET_INLINE int deep_next(int left) {
  if (left == 0) return deep_leaf();
  return deep_calls[static_cast<std::size_t>(left) % deep_calls.size()](left - 1);
}
}  // namespace
template <int kNumber>
STACK_CALL int deep_call(int left) {
  volatile int local = kNumber;
  return deep_next(left) + local;
}
namespace {
template <int... kNumbers>
constexpr std::array<DeepCall, sizeof...(kNumbers)> all_deep_calls(
    std::integer_sequence<int, kNumbers...>) {
  return {deep_call<kNumbers>...};
}
constexpr std::array<DeepCall, 1000> deep_calls =
    all_deep_calls(std::make_integer_sequence<int, 1000>());
}  // namespace
STACK_LINK(deep_1500, deep_next(1500))
STACK_LINK(deep_5000, deep_next(5000))

// A handler runs on top of a call that sleeps.
STACK_LEAF(signal_leaf)
TARGET_FRAME void signal_handler(int) { yes = signal_leaf(); }
TARGET_FRAME int signal_sleeper() {
  struct sigaction action {};
  action.sa_handler = signal_handler;
  sigaction(SIGALRM, &action, nullptr);
  timer_t timer;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGALRM;
  event._sigev_un._tid = gettid();
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  const itimerspec soon{{0, 0}, {0, 20'000'000}};
  timer_settime(timer, 0, &soon, nullptr);
  timespec left{100'000, 0};
  return nanosleep(&left, &left) + yes;
}
STACK_LINK(signal_outer, signal_sleeper())

STACK_LEAF(alternate_leaf)
TARGET_FRAME void alternate_handler(int) { yes = alternate_leaf(); }
TARGET_FRAME int alternate_raiser() {
  static std::array<char, 64 * 1024> memory;
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = alternate_handler;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  volatile char local[24];
  local[0] = 1;
  return raise(SIGUSR1) + local[0];
}
STACK_LINK(alternate_outer, alternate_raiser())

STACK_LEAF(fiber_leaf)
STACK_LINK(fiber_inner, fiber_leaf())
TARGET_FRAME void fiber_entry() { yes = fiber_inner(); }
TARGET_FRAME int fiber_outer() {
  static ucontext_t here;
  static ucontext_t fiber;
  static std::array<char, 64 * 1024> memory;
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = memory.data();
  fiber.uc_stack.ss_size = memory.size();
  fiber.uc_link = &here;
  makecontext(&fiber, fiber_entry, 0);
  return swapcontext(&here, &fiber) + yes;
}

STACK_LEAF(small_leaf)
STACK_LINK(small_outer, small_leaf())

// Stacks that are torn down by something else than returns.
TARGET_FRAME int thrower() {
  if (yes != 0) throw 1;
  return 0;
}
STACK_LINK(throw_middle, thrower())
TARGET_FRAME int throw_outer() {
  int caught = 0;
  stack_shape::at_leaf = true;
  while (yes != 0) {
    try {
      caught += throw_middle();
    } catch (int) {
      caught = (caught + 1) & 1;
    }
  }
  return caught;
}

namespace {
jmp_buf jump_target;
}
TARGET_FRAME int jumper() {
  if (yes != 0) longjmp(jump_target, 1);
  return 0;
}
STACK_LINK(jump_middle, jumper())
TARGET_FRAME int jump_outer() {
  stack_shape::at_leaf = true;
  if (setjmp(jump_target) < 2) return jump_middle();
  return 0;
}

TARGET_FRAME int clock_loop() {
  timespec now{};
  stack_shape::at_leaf = true;
  while (yes != 0) yes = clock_gettime(CLOCK_MONOTONIC, &now) + 1;
  return yes;
}
STACK_LINK(clock_outer, clock_loop())

int main(int argc, char** argv) {
  constexpr stack_shape::Shape kShapes[] = {
      {"realigned", realigned_outer},
      {"smashed_return", smashed_return_outer},
      {"smashed_unmapped", smashed_unmapped_outer},
      {"smashed_frame", smashed_frame_outer},
      {"smashed_loop", smashed_loop_outer},
      {"big", big_outer},
      {"deep_1500", deep_1500},
      {"deep_5000", deep_5000},
      {"signal", signal_outer},
      {"alternate", alternate_outer},
      {"fiber", fiber_outer},
      {"small", small_outer},
      {"throw", throw_outer},
      {"jump", jump_outer},
      {"clock", clock_outer},
  };
  const bool small = argc > 1 && std::strcmp(argv[1], "small") == 0;
  return stack_shape::run(kShapes, argc, argv, small ? 16 * 1024 : 0);
}
