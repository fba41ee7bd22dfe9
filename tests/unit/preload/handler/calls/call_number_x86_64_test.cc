#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "preload/handler/calls/call_number.h"

namespace swipr::handler {
namespace {

std::int32_t decode(std::initializer_list<int> bytes) {
  std::array<std::uint8_t, kCodeBytes> code;
  code.fill(0x90);
  code[kCodeBytes - 2] = 0x0f;
  code[kCodeBytes - 1] = 0x05;
  std::transform(bytes.begin(), bytes.end(), code.end() - 2 - static_cast<long>(bytes.size()),
                 [](int byte) { return static_cast<std::uint8_t>(byte); });
  return decode_call_number(code);
}

TEST(CallNumber, IsReadDirectlyBeforeTheInstruction) {
  EXPECT_EQ(decode({0xb8, 0x07, 0, 0, 0}), SYS_poll);
  EXPECT_EQ(decode({0xb8, 0x0e, 0x01, 0, 0}), SYS_pselect6);
  EXPECT_EQ(decode({0x31, 0xc0}), SYS_read);
  EXPECT_EQ(decode({0x8b, 0x3c, 0x24, 0xb8, 0xe6, 0, 0, 0}), SYS_clock_nanosleep);
  EXPECT_EQ(decode({0x89, 0xc7, 0xb8, 0x07, 0, 0, 0}), SYS_poll);  // mov %eax,%edi
}

TEST(CallNumber, IsReadAcrossLoadsOfArguments) {
  EXPECT_EQ(decode({0xb8, 0x0e, 0x01, 0, 0, 0x8b, 0x7c, 0x24, 0x1c}), SYS_pselect6);
  EXPECT_EQ(decode({0xb8, 0x2d, 0, 0, 0, 0x48, 0x8b, 0x54, 0x24, 0x10, 0x48, 0x8b, 0x74, 0x24, 8}),
            SYS_recvfrom);
  EXPECT_EQ(decode({0xb8, 0xca, 0, 0, 0, 0x40, 0x80, 0xf6, 0x81}), SYS_futex);
}

TEST(CallNumber, IsUnknownWhereSomethingElseMaySetIt) {
  EXPECT_EQ(decode({0x44, 0x89, 0xc8}), -1);                       // mov %r9d,%eax
  EXPECT_EQ(decode({0x41, 0xb8, 0x07, 0, 0, 0}), -1);              // mov $7,%r8d
  EXPECT_EQ(decode({0x8b, 0xb8, 0x10, 0x01, 0, 0}), -1);           // mov 0x110(%rax),%edi
  EXPECT_EQ(decode({0xc7, 0x45, 0xb8, 0x07, 0, 0, 0}), -1);        // movl $7,-0x48(%rbp)
  EXPECT_EQ(decode({0xc7, 0x44, 0x24, 0xb8, 0x07, 0, 0, 0}), -1);  // movl $7,-0x48(%rsp)
  EXPECT_EQ(decode({0x0f, 0xb6, 0xb8, 0x07, 0, 0, 0}), -1);        // movzbl 7(%rax),%edi
  EXPECT_EQ(decode({0x45, 0x31, 0xc0}), -1);                       // xor %r8d,%r8d
  EXPECT_EQ(decode({0xb8, 0x07, 0, 0, 0, 0x4c, 0x89, 0xca}), -1);
}

TEST(CallNumber, IsReadFromEcxInAFutexOfGlibc231) {
  EXPECT_EQ(decode({0xb9, 0xca, 0, 0, 0, 0x31, 0xd2, 0x89, 0xc8}), SYS_futex);
  EXPECT_EQ(decode({0xb9, 0xca, 0, 0, 0, 0x31, 0xd2, 0x89, 0xc8, 0x44, 0x31, 0xf6}), SYS_futex);
  EXPECT_EQ(decode({0xb9, 0x07, 0, 0, 0, 0x31, 0xd2, 0x89, 0xc8}), -1);
  EXPECT_EQ(decode({0xb9, 0xca, 0, 0, 0, 0x31, 0xd2, 0x89, 0xd0}), -1);  // mov %edx,%eax
}

TEST(CallNumber, NeedsTheInstruction) {
  std::array<std::uint8_t, kCodeBytes> code{};
  EXPECT_EQ(decode_call_number(code), -1);
}

// The numbers at all `syscall` instructions of a function of libc.
std::vector<std::int32_t> numbers_in(const char* name) {
  std::vector<std::int32_t> found;
  const auto* code =
      static_cast<const std::uint8_t*>(::dlsym(::dlopen("libc.so.6", RTLD_NOW), name));
  Dl_info info;
  ElfW(Sym)* symbol = nullptr;
  if (code == nullptr ||
      ::dladdr1(code, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0 ||
      symbol == nullptr) {
    return found;
  }
  for (std::size_t end = 2; end <= symbol->st_size; ++end) {
    if (code[end - 2] != 0x0f || code[end - 1] != 0x05) continue;
    found.push_back(decode_call_number(
        std::span<const std::uint8_t, kCodeBytes>(code + end - kCodeBytes, kCodeBytes)));
  }
  return found;
}

TEST(CallNumber, IsReadInEveryWaitOfThisLibc) {
  const struct {
    const char* name;
    std::int32_t number;
  } kWaits[] = {{"poll", SYS_poll},
                {"ppoll", SYS_ppoll},
                {"select", SYS_pselect6},
                {"pselect", SYS_pselect6},
                {"epoll_wait", SYS_epoll_wait},
                {"epoll_pwait", SYS_epoll_pwait},
                {"clock_nanosleep", SYS_clock_nanosleep},
                {"sigtimedwait", SYS_rt_sigtimedwait},
                {"semtimedop", SYS_semtimedop},
                {"msgrcv", SYS_msgrcv},
                {"msgsnd", SYS_msgsnd},
                {"recv", SYS_recvfrom},
                {"recvfrom", SYS_recvfrom},
                {"recvmsg", SYS_recvmsg},
                {"send", SYS_sendto},
                {"sendto", SYS_sendto},
                {"sendmsg", SYS_sendmsg},
                {"accept", SYS_accept},
                {"connect", SYS_connect},
                {"write", SYS_write},
                {"pause", SYS_pause}};
  for (const auto& wait : kWaits) {
    const std::vector<std::int32_t> numbers = numbers_in(wait.name);
    EXPECT_FALSE(numbers.empty()) << wait.name;
    EXPECT_THAT(numbers, testing::Each(wait.number)) << wait.name;
  }
}

std::vector<std::uint8_t> padded(std::initializer_list<int> bytes) {
  std::vector<std::uint8_t> code(64 - bytes.size(), 0x90);
  for (const int byte : bytes) code.push_back(static_cast<std::uint8_t>(byte));
  return code;
}

// __syscall_cancel_arch of glibc 2.41, to the end of its `syscall`.
const auto kCancelPoint =
    padded({0x49, 0x89, 0xfb, 0x48, 0x89, 0xf0, 0x48, 0x89, 0xd7, 0x48, 0x89, 0xce,
            0x4c, 0x89, 0xc2, 0x4d, 0x89, 0xca, 0x4c, 0x8b, 0x44, 0x24, 0x08, 0x4c,
            0x8b, 0x4c, 0x24, 0x10, 0x4c, 0x89, 0x5c, 0x24, 0x08, 0x0f, 0x05});

std::uint64_t end_of(const std::vector<std::uint8_t>& code) {
  return reinterpret_cast<std::uint64_t>(code.data() + code.size());
}

struct Stack {
  std::array<std::uint64_t, 16> words{};
  std::uint64_t sp() const { return reinterpret_cast<std::uint64_t>(words.data()); }
};

struct Place {
  std::uint64_t pc = 0;
  std::uint64_t sp = 0;
  std::uint64_t fp = 0;
  std::array<std::uint64_t, 5> kept{};  // rbx, r12 to r15
};

std::int32_t number_at_place(const Place& place) {
  gregset_t registers{};
  const auto set = [&](int number, std::uint64_t value) {
    registers[number] = static_cast<greg_t>(value);
  };
  set(REG_RIP, place.pc);
  set(REG_RSP, place.sp);
  set(REG_RBP, place.fp);
  set(REG_RBX, place.kept[0]);
  for (int at = 1; at < 5; ++at) set(REG_R12 + at - 1, place.kept[static_cast<std::size_t>(at)]);
  std::int32_t number = -2;
  return read_call_number(registers, number) ? number : -2;
}

TEST(CallNumber, OfACancellableCallIsAnArgumentOfItsCaller) {
  const auto by_sp = padded({0x48, 0x8b, 0x74, 0x24, 0x20,  // mov 32(%rsp),%rsi
                             0x49, 0x89, 0xd0, 0x4c, 0x89, 0xdf, 0xe8, 0, 0, 0, 0});
  const auto by_fp = padded({0x48, 0x8b, 0x75, 0x10, 0xe8, 0, 0, 0, 0});  // mov 16(%rbp),%rsi
  const auto by_rcx = padded({0x48, 0x89, 0xce, 0xe8, 0, 0, 0, 0});
  const auto no_call = padded({0x48, 0x8b, 0x74, 0x24, 0x20, 0x90, 0x90, 0x90, 0x90, 0x90});
  Stack stack;
  stack.words[1 + 4] = SYS_poll;
  stack.words[8 + 2] = SYS_epoll_wait;
  const std::uint64_t fp = stack.sp() + 64;
  const auto number_below = [&](const std::vector<std::uint8_t>& caller) {
    stack.words[0] = end_of(caller);
    return number_at_place({end_of(kCancelPoint), stack.sp(), fp});
  };
  EXPECT_EQ(number_below(by_sp), SYS_poll);
  EXPECT_EQ(number_below(by_fp), SYS_epoll_wait);
  EXPECT_EQ(number_below(by_rcx), -1);
  EXPECT_EQ(number_below(no_call), -1);
  stack.words[1 + 4] = 1 << 20;
  EXPECT_EQ(number_below(by_sp), -1);
}

// The caller of __syscall_cp_asm as Debian's musl 1.2.3 has it, and the same with other registers.
TEST(CallNumber, OfACancellableCallOfMuslIsInARegister) {
  const auto number_in = [](int first, int last, const Place& registers) {
    const auto caller =
        padded({0x48,  0x8d, 0x7b, 0x3c,                          // lea 60(%rbx),%rdi
                first, 0x89, last,                                // mov REGISTER,%rsi
                0x41,  0x51, 0x4d, 0x89, 0xc1, 0x49, 0x89, 0xd0,  // push %r9; mov %r8,%r9 …
                0x4c,  0x89, 0xea, 0xe8, 0,    0,    0,    0});   // mov %r13,%rdx; call
    Stack stack;
    stack.words[0] = end_of(caller);
    Place place = registers;
    place.pc = end_of(kCancelPoint);
    place.sp = stack.sp();
    return number_at_place(place);
  };
  const Place registers{.pc = 0,
                        .sp = 0,
                        .fp = SYS_wait4,
                        .kept = {SYS_poll, SYS_nanosleep, SYS_futex, SYS_accept, 1 << 20}};
  EXPECT_EQ(number_in(0x48, 0xde, registers), SYS_poll);
  EXPECT_EQ(number_in(0x48, 0xee, registers), SYS_wait4);
  EXPECT_EQ(number_in(0x4c, 0xe6, registers), SYS_nanosleep);
  EXPECT_EQ(number_in(0x4c, 0xee, registers), SYS_futex);
  EXPECT_EQ(number_in(0x4c, 0xf6, registers), SYS_accept);
  EXPECT_EQ(number_in(0x4c, 0xfe, registers), -1);  // no number of a call
}

TEST(CallNumber, IsReadFromTheStackWhereItWasLoadedFromThere) {
  const auto by_sp = padded({0x48, 0x8b, 0x44, 0x24, 0x10, 0x0f, 0x05});  // mov 16(%rsp),%rax
  const auto by_fp = padded({0x48, 0x8b, 0x45, 0xf8, 0x0f, 0x05});        // mov -8(%rbp),%rax
  Stack stack;
  stack.words[2] = SYS_nanosleep;
  stack.words[7] = SYS_poll;
  const std::uint64_t fp = stack.sp() + 64;
  EXPECT_EQ(number_at_place({end_of(by_sp), stack.sp(), fp}), SYS_nanosleep);
  EXPECT_EQ(number_at_place({end_of(by_fp), stack.sp(), fp}), SYS_poll);
}

TEST(CallNumber, MemoryThatCannotBeReadIsNoError) {
  Stack stack;  // its return address is 0
  EXPECT_EQ(number_at_place({end_of(kCancelPoint), stack.sp(), 0}), -1);
  EXPECT_EQ(number_at_place({end_of(kCancelPoint), 8, 0}), -1);
  EXPECT_EQ(number_at_place({8, stack.sp(), 0}), -2);
}

}  // namespace
}  // namespace swipr::handler
