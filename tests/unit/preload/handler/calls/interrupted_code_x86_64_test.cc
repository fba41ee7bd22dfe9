#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "preload/handler/calls/call_number.h"
#include "preload/handler/calls/interrupted_code.h"

namespace swipr::handler {
namespace {

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
    set(REG_R11, reg(REG_EFL));
  }
  std::uint64_t code_end() const {
    return reinterpret_cast<std::uint64_t>(kCode.data() + kCode.size());
  }

  static constexpr std::array<std::uint8_t, kCodeBytes> kCode = [] {
    constexpr std::uint8_t kPoll[] = {0xb8, SYS_poll, 0, 0, 0, 0x0f, 0x05};
    std::array<std::uint8_t, kCodeBytes> code{};
    std::copy(std::begin(kPoll), std::end(kPoll), code.end() - std::size(kPoll));
    return code;
  }();
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

TEST_F(InterruptedCodeTest, ACallThatWasNotAffectedHasItsNumber) {
  come_out(0);
  EXPECT_FALSE(read_call(context_, call_));
  EXPECT_EQ(call_.number, SYS_poll);
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

// A function that is called by rcx.
TEST_F(InterruptedCodeTest, EqualRegistersAloneAreNoCall) {
  constexpr std::array<std::uint8_t, kCodeBytes> kCallByRcx{};
  const auto entry = reinterpret_cast<std::uint64_t>(kCallByRcx.data() + kCallByRcx.size());
  set(REG_RAX, 2);
  set(REG_RIP, entry);
  set(REG_RCX, entry);
  leave_to_program(context_);
  EXPECT_EQ(reg(REG_RCX), entry);
  EXPECT_FALSE(read_call(context_, call_));
}

TEST_F(InterruptedCodeTest, WithFredTheInstructionDecides) {
  learn_call_registers();
  const bool before = calls_keep_registers;
  calls_keep_registers = true;
  come_out(-EINTR);
  set(REG_RCX, 77);
  set(REG_R11, 78);
  EXPECT_TRUE(read_call(context_, call_));
  EXPECT_EQ(call_.number, SYS_poll);
  leave_to_program(context_);
  EXPECT_FALSE(read_call(context_, call_));
  set(REG_RIP, code_end() - 1);  // other code
  set(REG_RCX, 77);
  leave_to_program(context_);
  EXPECT_EQ(reg(REG_RCX), 77u);
  EXPECT_FALSE(read_call(context_, call_));
  calls_keep_registers = before;
}

TEST_F(InterruptedCodeTest, OtherFlagsInR11AreNoCall) {
  come_out(-EINTR);
  set(REG_R11, 0x246);
  EXPECT_FALSE(read_call(context_, call_));
  set(REG_EFL, 0x10346);  // stepped by a debugger
  EXPECT_TRUE(read_call(context_, call_));
}

}  // namespace
}  // namespace swipr::handler
