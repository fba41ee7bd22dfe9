#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>

#include "preload/handler/calls/continued_transfer.h"
#include "preload/handler/calls/interrupted_code.h"
#include "preload/machine/instruction_aarch64.h"

namespace swipr::handler {
namespace {

constexpr std::uint64_t kFlags = 0xf000'0000;
constexpr std::uint64_t kDescriptor = 5;

class AarchInterruptedCode : public testing::Test {
 protected:
  void come_out(std::int64_t result, std::uint64_t number) {
    auto& machine = context_.uc_mcontext;
    machine.regs[0] = static_cast<std::uint64_t>(result);
    machine.regs[8] = number;
    machine.regs[19] = kDescriptor;
    machine.pc = code_end();
    machine.pstate = 0x2000'0000;
  }
  std::uint64_t code_end() const { return reinterpret_cast<std::uint64_t>(&kCode[2]); }
  std::uint64_t reg(unsigned number) const { return context_.uc_mcontext.regs[number]; }

  // mov x0, x19; svc #0; cmn x0, #1, lsl #12; ret
  alignas(16) static constexpr std::array<std::uint32_t, 4> kCode{0xaa1303e0, machine::kSvc,
                                                                  0xb140041f, 0xd65f03c0};
  ucontext_t context_{};
  SystemCall call_;
};

TEST_F(AarchInterruptedCode, ACallIsMadeAgainWithItsFirstArgument) {
  come_out(-EINTR, SYS_ppoll);
  context_.uc_mcontext.regs[3] = 4;
  ASSERT_TRUE(read_call(context_, call_));
  EXPECT_EQ(call_.number, SYS_ppoll);
  EXPECT_EQ(call_.arguments[0], kDescriptor);
  EXPECT_EQ(call_.arguments[3], 4u);
  repeat_call(context_, call_);
  EXPECT_EQ(reg(0), kDescriptor);
  EXPECT_EQ(context_.uc_mcontext.pc, code_end() - 4);
}

TEST_F(AarchInterruptedCode, IsNoCallWhenAHandlerOfTheProgramHasRun) {
  for (const std::int64_t result : {std::int64_t{-EINTR}, std::int64_t{10}}) {
    come_out(result, SYS_read);
    leave_to_program(context_);
    EXPECT_FALSE(read_call(context_, call_));
    EXPECT_EQ(context_.uc_mcontext.pc, code_end());
    EXPECT_EQ(static_cast<std::int64_t>(reg(0)), result);
  }
}

TEST_F(AarchInterruptedCode, ARepeatedCallReturnsToTheProgramWhenItsHandlerComesFirst) {
  come_out(-EINTR, SYS_ppoll);
  ASSERT_TRUE(read_call(context_, call_));
  repeat_call(context_, call_);
  leave_to_program(context_);
  EXPECT_EQ(static_cast<std::int64_t>(reg(0)), -EINTR);
  EXPECT_EQ(context_.uc_mcontext.pc, code_end());
  EXPECT_FALSE(read_call(context_, call_));
}

TEST_F(AarchInterruptedCode, ARepeatedCallIsRepeatedAgain) {
  come_out(-EINTR, SYS_ppoll);
  ASSERT_TRUE(read_call(context_, call_));
  repeat_call(context_, call_);
  context_.uc_mcontext.regs[0] = static_cast<std::uint64_t>(-EINTR);
  context_.uc_mcontext.pc = code_end();
  EXPECT_TRUE(read_call(context_, call_));
  EXPECT_EQ(call_.number, SYS_ppoll);
}

TEST_F(AarchInterruptedCode, AContinuedTransferStaysShortWhenAHandlerOfTheProgramComesFirst) {
  struct Case {
    std::uint64_t number;
    unsigned count;
    unsigned buffer;  // 0: none
  };
  for (const Case& each : {Case{SYS_read, 2, 1}, Case{SYS_copy_file_range, 4, 0}}) {
    come_out(10, each.number);
    context_.uc_mcontext.regs[each.count] = 100;
    context_.uc_mcontext.regs[1] = 1000;
    ASSERT_TRUE(read_call(context_, call_));
    continue_transfer(context_, call_);
    EXPECT_NE(context_.uc_mcontext.pc, code_end());
    EXPECT_EQ(reg(each.count), 90u);
    EXPECT_EQ(reg(1), each.buffer == 1 ? 1010u : 1000u);
    EXPECT_EQ(reg(16), code_end());
    EXPECT_EQ(reg(17), kDescriptor);
    leave_to_program(context_);
    EXPECT_EQ(reg(0), 10u);
    EXPECT_EQ(reg(1), 1000u);
    EXPECT_EQ(reg(each.count), 100u);
    EXPECT_EQ(context_.uc_mcontext.pc, code_end());
    EXPECT_FALSE(read_call(context_, call_));
  }
}

TEST_F(AarchInterruptedCode, AFillMovesItsFirstArgumentOn) {
  come_out(10, SYS_getrandom);
  context_.uc_mcontext.regs[1] = 100;
  ASSERT_TRUE(read_call(context_, call_));
  continue_transfer(context_, call_);
  EXPECT_EQ(reg(1), 90u);
  EXPECT_EQ(reg(17), kDescriptor + 10);
}

TEST_F(AarchInterruptedCode, AContinuedTransferGoesOnOnlyIfNoHandlerOfTheProgramHasRun) {
  come_out(-EINTR, SYS_read);
  context_.uc_mcontext.pc = reinterpret_cast<std::uint64_t>(&swipr_continued_transfer_returned);
  context_.uc_mcontext.regs[17] = 1;
  ASSERT_TRUE(is_continued_transfer(context_));
  ASSERT_TRUE(read_call(context_, call_));
  let_transfer_go_on(context_);
  EXPECT_EQ(reg(17), 0u);
  leave_to_program(context_);
  EXPECT_NE(reg(17), 0u);
  EXPECT_FALSE(read_call(context_, call_));
}

TEST_F(AarchInterruptedCode, CallsOfTheCLibraryAreRecognised) {
  EXPECT_TRUE(recognises_calls_of_libc());
}

TEST_F(AarchInterruptedCode, OrdinaryCodeIsLeftAlone) {
  come_out(-EINTR, SYS_ppoll);
  context_.uc_mcontext.pc -= 4;
  leave_to_program(context_);
  EXPECT_EQ(context_.uc_mcontext.pstate & kFlags, 0x2000'0000u);
  EXPECT_FALSE(read_call(context_, call_));
}

}  // namespace
}  // namespace swipr::handler
