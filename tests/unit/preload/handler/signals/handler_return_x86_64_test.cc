// What the interrupted code has after a handler of the program.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "preload/handler/signals/handler_return.h"

namespace swipr::handler {
namespace {

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

TEST(HandlerReturn, TheInterruptedCodeGoesOnAsItWas) {
  struct sigaction wanted {};
  wanted.sa_handler = [](int) {};
  struct sigaction before {};
  ::sigaction(SIGUSR1, nullptr, &before);
  ASSERT_EQ(put_program_handler(SIGUSR1, wanted), 0);
  EXPECT_EQ(kept_registers_after_signal(), 11u + 12 + 13 + 14 + 15 + 1 + 2 + 3 + 77);
  ::sigaction(SIGUSR1, &before, nullptr);
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

TEST(HandlerReturn, AFunctionThatIsCalledByRcxKeepsIt) {
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

}  // namespace
}  // namespace swipr::handler
