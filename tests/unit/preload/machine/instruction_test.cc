#include <gtest/gtest.h>

#include <ostream>
#include <vector>

#include "preload/machine/instruction_x86_64.h"

namespace swipr::machine {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct LengthCase {
  const char* text;
  Bytes code;
  std::int64_t stack_bytes = 0;
  bool ends_block = false;
};
void PrintTo(const LengthCase& c, std::ostream* out) { *out << c.text; }

class InstructionTest : public testing::TestWithParam<LengthCase> {};

TEST_P(InstructionTest, HasItsLengthAndItsEffectOnTheStack) {
  Bytes code = GetParam().code;
  code.resize(15, 0x48);  // the following bytes must not matter
  const Instruction instruction = decode_instruction(code);
  EXPECT_EQ(instruction.bytes, GetParam().code.size());
  EXPECT_EQ(stack_bytes_taken(instruction, code), GetParam().stack_bytes);
  EXPECT_EQ(ends_straight_code(instruction), GetParam().ends_block);
}

INSTANTIATE_TEST_SUITE_P(
    X86, InstructionTest,
    testing::Values(LengthCase{"push %rbp", {0x55}, 8}, LengthCase{"push %r12", {0x41, 0x54}, 8},
                    LengthCase{"push $1", {0x6a, 0x01}, 8}, LengthCase{"pop %rbx", {0x5b}, -8},
                    LengthCase{"push 8(%rbx)", {0xff, 0x73, 0x08}, 8},
                    LengthCase{"sub $0x18,%rsp", {0x48, 0x83, 0xec, 0x18}, 0x18},
                    LengthCase{"sub $0x1000,%rsp", {0x48, 0x81, 0xec, 0, 0x10, 0, 0}, 0x1000},
                    LengthCase{"add $-0x80,%rsp", {0x48, 0x83, 0xc4, 0x80}, 0x80},
                    LengthCase{"sub $8,%r12", {0x49, 0x83, 0xec, 0x08}},
                    LengthCase{"lea -0x20(%rsp),%rsp", {0x48, 0x8d, 0x64, 0x24, 0xe0}, 0x20},
                    LengthCase{"lea 8(%rsp),%rsi", {0x48, 0x8d, 0x74, 0x24, 0x08}},
                    LengthCase{"mov %fs:0x28,%rax", {0x64, 0x48, 0x8b, 4, 0x25, 0x28, 0, 0, 0}},
                    LengthCase{"movabs", {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}},
                    LengthCase{"movw $1,(%rax)", {0x66, 0xc7, 0x00, 0x01, 0x00}},
                    LengthCase{"test $1,%cl", {0xf6, 0xc1, 0x01}},
                    LengthCase{"neg %rax", {0x48, 0xf7, 0xd8}},
                    LengthCase{"movaps %xmm0,-0x50(%rbp)", {0x0f, 0x29, 0x45, 0xb0}},
                    LengthCase{"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}},
                    LengthCase{"pshufd", {0x66, 0x0f, 0x70, 0xc0, 0xe0}},
                    LengthCase{"palignr", {0x66, 0x0f, 0x3a, 0x0f, 0xc8, 0x08}},
                    LengthCase{"vmovdqu (%rsi),%ymm0", {0xc5, 0xfe, 0x6f, 0x06}},
                    LengthCase{"vpalignr", {0xc4, 0xe3, 0x71, 0x0f, 0xc0, 0x08}},
                    LengthCase{"evex", {0x62, 0xf1, 0xfe, 0x28, 0x6f, 0x06}},
                    LengthCase{"je", {0x74, 0x10}, 0, true}, LengthCase{"ret", {0xc3}, 0, true},
                    LengthCase{"jne near", {0x0f, 0x85, 1, 0, 0, 0}, 0, true},
                    LengthCase{"call", {0xe8, 1, 0, 0, 0}, 0, true},
                    LengthCase{"call *8(%rax)", {0xff, 0x50, 0x08}, 0, true}));

TEST(Instruction, CutOffCodeIsNone) {
  EXPECT_EQ(decode_instruction(Bytes{0x55}).bytes, 0u);
  EXPECT_EQ(decode_instruction(Bytes{}).bytes, 0u);
  EXPECT_EQ(decode_instruction(Bytes(15, 0x66)).bytes, 0u);
}

}  // namespace
}  // namespace swipr::machine
