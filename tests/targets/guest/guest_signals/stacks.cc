// Handlers on small alternate stacks, and a backtrace through a handler.
#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/targets/guest/guest_signals/checks.h"
#include "tests/targets/older_libc.h"

namespace guest_signals {

namespace {

char small_stack[6144];
void on_small_stack(int) {
  char locals[1024];
  std::memset(locals, 0x5a, sizeof locals);
  asm volatile("" : : "r"(locals) : "memory");
  work();
  seen = seen + 1;
}

}  // namespace

void check_small_stack() {
  work();  // what it calls is bound now, not on the small stack
  std::memset(small_stack, 0x77, sizeof small_stack);
  stack_t stack{};
  stack.ss_sp = small_stack;
  stack.ss_size = sizeof small_stack;
  // One handler from before there is such a stack, one from afterwards.
  const struct sigaction wanted = make(on_small_stack, SA_ONSTACK);
  sigaction(SIGUSR1, &wanted, nullptr);
  tell("sigaltstack", sigaltstack(&stack, nullptr));
  sigaction(SIGUSR2, &wanted, nullptr);
  for (int number : {SIGUSR1, SIGUSR2}) {
    seen = 0;
    for (int i = 0; i < 5; ++i) send(number);
    tell("seen", seen);
    tell_disposition("on a small stack", number);
  }
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  signal(SIGUSR1, SIG_DFL);
  signal(SIGUSR2, SIG_DFL);
}

namespace {

void on_smallest_stack(int) { seen = seen + 1; }

}  // namespace

// As large as the kernel wants it, with a page below that nothing may touch.
void check_smallest_stack() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  constexpr std::size_t kRoom = 16384;
  auto* room = static_cast<char*>(
      mmap(nullptr, page + kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  tell("mprotect", mprotect(room, page, PROT_NONE));
  stack_t stack{};
  stack.ss_sp = room + page;
  stack.ss_size = getauxval(AT_MINSIGSTKSZ);
  tell("sigaltstack", sigaltstack(&stack, nullptr));
  const struct sigaction wanted = make(on_smallest_stack, SA_ONSTACK);
  sigaction(SIGUSR1, &wanted, nullptr);
  seen = 0;
  for (int i = 0; i < 5; ++i) {
    work();
    send(SIGUSR1);
  }
  tell("seen", seen);
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  munmap(room, page + kRoom);
  signal(SIGUSR1, SIG_DFL);
}

extern "C" void check_backtrace_here();

namespace {

void on_backtrace(int) {
  void* frames[64];
  const int count = backtrace(frames, 64);
  const auto begin = reinterpret_cast<std::uintptr_t>(&check_backtrace_here);
  for (int i = 0; i < count; ++i) {
    if (reinterpret_cast<std::uintptr_t>(frames[i]) - begin < 256) seen = seen + 1;
  }
}

}  // namespace

void check_backtrace() {
  signal(SIGUSR1, on_backtrace);
  seen = 0;
  check_backtrace_here();
  tell("reached", seen);
  signal(SIGUSR1, SIG_DFL);
}

}  // namespace guest_signals

TARGET_FRAME void check_backtrace_here() {
  guest_signals::work();
  guest_signals::send(SIGUSR1);
  asm volatile("" ::: "memory");
}
