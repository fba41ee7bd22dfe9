#include "preload/handler/interrupted_code.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <vector>

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

class InterruptedCodeTest : public testing::Test {
 protected:
  std::uint64_t reg(int number) const {
    return static_cast<std::uint64_t>(context_.uc_mcontext.gregs[number]);
  }
  void set(int number, std::uint64_t value) {
    context_.uc_mcontext.gregs[number] = static_cast<greg_t>(value);
  }
  // Just returned from poll at address `pc`.
  void come_out(std::int64_t result) {
    set(REG_RAX, static_cast<std::uint64_t>(result));
    set(REG_RIP, code_end());
    set(REG_RCX, code_end());
  }
  std::uint64_t code_end() const { return reinterpret_cast<std::uint64_t>(std::end(kCode)); }

  static constexpr std::uint8_t kCode[kCodeBytes] = {
      0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
      0x90, 0x90, 0x90, 0x90, 0x90, 0xb8, 0x07, 0x00, 0x00, 0x00, 0x0f, 0x05};
  ucontext_t context_{};
  SystemCall call_;
};

TEST_F(InterruptedCodeTest, IsACallThatHasJustReturned) {
  come_out(-EINTR);
  set(REG_R10, 4);
  ASSERT_TRUE(read_call(context_, call_));
  EXPECT_EQ(call_.number, SYS_poll);
  EXPECT_EQ(call_.result, -EINTR);
  EXPECT_EQ(call_.arguments[3], 4u);
}

TEST_F(InterruptedCodeTest, IsNoCallWhenAHandlerOfTheProgramHasRun) {
  come_out(-EINTR);
  leave_to_program(context_);
  EXPECT_FALSE(read_call(context_, call_));
  EXPECT_EQ(reg(REG_RIP), code_end());
  EXPECT_EQ(static_cast<std::int64_t>(reg(REG_RAX)), -EINTR);
}

TEST_F(InterruptedCodeTest, ARepeatedCallIsMadeAgain) {
  come_out(-EINTR);
  ASSERT_TRUE(read_call(context_, call_));
  repeat_call(context_, call_);
  EXPECT_EQ(reg(REG_RAX), static_cast<std::uint64_t>(SYS_poll));
  EXPECT_EQ(reg(REG_RIP), code_end() - 2);
}

TEST_F(InterruptedCodeTest, ARepeatedCallReturnsToTheProgramWhenItsHandlerComesFirst) {
  come_out(-EINTR);
  ASSERT_TRUE(read_call(context_, call_));
  repeat_call(context_, call_);
  leave_to_program(context_);
  EXPECT_EQ(static_cast<std::int64_t>(reg(REG_RAX)), -EINTR);
  EXPECT_EQ(reg(REG_RIP), code_end());
}

TEST_F(InterruptedCodeTest, AContinuedTransferStaysShortWhenAHandlerOfTheProgramComesFirst) {
  come_out(10);
  set(REG_RSI, 1000);
  set(REG_RDX, 100);
  ASSERT_TRUE(read_call(context_, call_));
  continue_transfer(context_, call_);
  EXPECT_EQ(reg(REG_RSI), 1010u);
  EXPECT_EQ(reg(REG_RDX), 90u);
  leave_to_program(context_);
  EXPECT_EQ(reg(REG_RAX), 10u);
  EXPECT_EQ(reg(REG_RSI), 1000u);
  EXPECT_EQ(reg(REG_RDX), 100u);
  EXPECT_EQ(reg(REG_RIP), code_end());
}

TEST_F(InterruptedCodeTest, ACountInAnotherRegisterMovesOnAndBack) {
  struct Case {
    std::int32_t number;
    int count;
    int buffer;
  };
  for (const Case& each : {Case{SYS_getrandom, REG_RSI, REG_RDI}, Case{SYS_sendfile, REG_R10, -1},
                           Case{SYS_copy_file_range, REG_R8, -1}}) {
    come_out(10);
    if (each.buffer >= 0) {
      set(each.buffer, 1000);
    }
    set(each.count, 100);
    ASSERT_TRUE(read_call(context_, call_));
    call_.number = each.number;
    continue_transfer(context_, call_);
    EXPECT_EQ(reg(each.count), 90u);
    if (each.buffer >= 0) {
      EXPECT_EQ(reg(each.buffer), 1010u);
    }
    EXPECT_NE(reg(REG_RIP), code_end());
    leave_to_program(context_);
    EXPECT_EQ(reg(each.count), 100u);
    if (each.buffer >= 0) {
      EXPECT_EQ(reg(each.buffer), 1000u);
    }
    EXPECT_EQ(reg(REG_RIP), code_end());
  }
}

TEST_F(InterruptedCodeTest, OrdinaryCodeIsLeftAlone) {
  set(REG_RAX, static_cast<std::uint64_t>(-EINTR));
  set(REG_RIP, code_end());
  set(REG_RCX, 77);
  leave_to_program(context_);
  EXPECT_EQ(reg(REG_RCX), 77u);
  EXPECT_FALSE(read_call(context_, call_));
}

}  // namespace
}  // namespace swipr::handler
