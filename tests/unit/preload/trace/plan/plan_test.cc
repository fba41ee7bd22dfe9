#include "preload/trace/plan/plan.h"

#include <gtest/gtest.h>

#include <ostream>
#include <vector>

namespace swipr::trace {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kAddress = 0x400000;

struct RefusalCase {
  const char* text;
  Bytes code;
  Refusal refusal;
};
void PrintTo(const RefusalCase& c, std::ostream* out) { *out << c.text; }

class PlanRefusal : public testing::TestWithParam<RefusalCase> {};

TEST_P(PlanRefusal, HasItsReason) {
  Plan plan;
  EXPECT_EQ(make_plan({kAddress, GetParam().code}, plan), GetParam().refusal);
  EXPECT_EQ(*refusal_text(GetParam().refusal) == '\0', GetParam().refusal == Refusal::kNone);
}

INSTANTIATE_TEST_SUITE_P(
    All, PlanRefusal,
    testing::Values(
        RefusalCase{"nothing", {}, Refusal::kTooShort},
        RefusalCase{"ret", {0xc3}, Refusal::kTooShort},
        RefusalCase{"pushes only", {0x50, 0x51, 0x52, 0x53, 0x55, 0x56}, Refusal::kTooShort},
        RefusalCase{"xor %eax,%eax; ret; int3 …",
                    {0x31, 0xc0, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc},
                    Refusal::kTooShort},
        RefusalCase{"xor %eax,%eax; jmp *(%rdi); nop …",
                    {0x31, 0xc0, 0xff, 0x27, 0x90, 0x90, 0x90},
                    Refusal::kTooShort},
        RefusalCase{"an instruction that is cut off",
                    {0x48, 0x89, 0xe5, 0x48, 0x8b, 0x05, 0, 0},
                    Refusal::kUndecodable},
        RefusalCase{
            "nop; mov …", {0x90, 0x48, 0xc7, 0xc0, 1, 0, 0, 0, 0xc3}, Refusal::kOneByteFirst},
        RefusalCase{
            "seven pushes: the seventh would be first",
            {0x50, 0x51, 0x52, 0x53, 0x55, 0x56, 0x57, 0x48, 0x89, 0xe5, 0xb8, 0, 0, 0, 0, 0xc3},
            Refusal::kOneByteFirst},
        RefusalCase{"mov $39,%al; syscall; ret …",
                    {0xb0, 0x27, 0x0f, 0x05, 0xc3, 0x90, 0x90},
                    Refusal::kSystemCall},
        RefusalCase{"jrcxz", {0xe3, 0x10, 0xb8, 0, 0, 0, 0, 0xc3}, Refusal::kUnmovable},
        RefusalCase{"loop", {0xe2, 0x10, 0xb8, 0, 0, 0, 0, 0xc3}, Refusal::kUnmovable},
        RefusalCase{"ud2", {0x0f, 0x0b, 0xb8, 0, 0, 0, 0, 0xc3}, Refusal::kUnmovable},
        RefusalCase{"xbegin", {0xc7, 0xf8, 0, 0, 0, 0, 0xc3}, Refusal::kUnmovable},
        RefusalCase{"bnd jmp", {0xf2, 0xe9, 0, 0, 0, 0, 0xc3}, Refusal::kUnmovable},
        RefusalCase{"data16 call", {0x66, 0xe8, 0, 0, 0, 0, 0xc3}, Refusal::kUnmovable},
        RefusalCase{"call *%rsp …", {0xff, 0xd4, 0xb8, 0, 0, 0, 0, 0xc3}, Refusal::kUnmovable},
        RefusalCase{
            "call *8(%rsp)", {0xff, 0x54, 0x24, 8, 0xb8, 0, 0, 0, 0, 0xc3}, Refusal::kUnmovable},
        RefusalCase{"mov 1(%eip),%eax", {0x67, 0x8b, 0x05, 1, 0, 0, 0, 0xc3}, Refusal::kUnmovable},
        RefusalCase{
            "call *%rax; mov …", {0xff, 0xd0, 0xb8, 0, 0, 0, 0, 0xc3}, Refusal::kCallInPatch},
        RefusalCase{"mov (%rsp),%rax, as setjmp",
                    {0x48, 0x89, 0x1f, 0x48, 0x8b, 0x04, 0x24, 0xc3},
                    Refusal::kReadsReturnAddress},
        RefusalCase{"pop %rdi, as vfork",
                    {0x5f, 0xb8, 0x3a, 0, 0, 0, 0x0f, 0x05, 0xc3},
                    Refusal::kOneByteFirst},
        RefusalCase{"mov $58,%eax; pop %rdi",
                    {0xb8, 0x3a, 0, 0, 0, 0x5f, 0x57, 0xc3},
                    Refusal::kReadsReturnAddress},
        RefusalCase{"sub $24,%rsp; mov 24(%rsp),%rsi",
                    {0x48, 0x83, 0xec, 0x18, 0x48, 0x8b, 0x74, 0x24, 0x18, 0xc3},
                    Refusal::kReadsReturnAddress},
        RefusalCase{"sub $24,%rsp; mov 16(%rsp),%rsi",
                    {0x48, 0x83, 0xec, 0x18, 0x48, 0x8b, 0x74, 0x24, 0x10, 0xc3},
                    Refusal::kNone},
        RefusalCase{"push %rbp; mov %rsp,%rbp; ret; mov 8(%rbp),%rax",
                    {0x55, 0x48, 0x89, 0xe5, 0x31, 0xc0, 0x5d, 0xc3, 0x48, 0x8b, 0x45, 0x08, 0xc3},
                    Refusal::kReadsReturnAddress},
        // A loop back to the first instruction, to the patch, into it.
        RefusalCase{"jmp to the begin", {0xb8, 0, 0, 0, 0, 0xeb, 0xf9}, Refusal::kBranchInto},
        RefusalCase{"jne to the begin",
                    {0xb8, 0, 0, 0, 0, 0x0f, 0x85, 0xf5, 0xff, 0xff, 0xff, 0xc3},
                    Refusal::kBranchInto},
        RefusalCase{"jne behind the push",
                    {0x55, 0xb8, 0, 0, 0, 0, 0x75, 0xf9, 0xc3},
                    Refusal::kBranchInto},
        RefusalCase{"jne to the second instruction",
                    {0x31, 0xc0, 0xff, 0xc0, 0x85, 0xc0, 0x75, 0xfa, 0xc3},
                    Refusal::kBranchInto},
        RefusalCase{"call of the second instruction",
                    {0x31, 0xc0, 0xff, 0xc0, 0x85, 0xc0, 0xe8, 0xf7, 0xff, 0xff, 0xff, 0xc3},
                    Refusal::kBranchInto},
        RefusalCase{"jne behind the patch",
                    {0x31, 0xc0, 0x85, 0xc0, 0x90, 0xff, 0xc0, 0x75, 0xfc, 0xc3},
                    Refusal::kNone},
        RefusalCase{"recursion",
                    {0x31, 0xc0, 0x85, 0xc0, 0x90, 0xe8, 0xf6, 0xff, 0xff, 0xff, 0xc3},
                    Refusal::kNone}));

TEST(Plan, TheGateMustBeInOneWord) {
  const Bytes code = {0xb8, 0, 0, 0, 0, 0xc3};
  Plan plan;
  EXPECT_EQ(make_plan({kAddress + 6, code}, plan), Refusal::kNone);
  EXPECT_EQ(make_plan({kAddress + 7, code}, plan), Refusal::kGateInTwoWords);
}

TEST(Plan, PushesStayBeforeThePatch) {
  //                  push %rbp; push %rbx; sub $8,%rsp; mov %rdi,%rbx; ret
  const Bytes code = {0x55, 0x53, 0x48, 0x83, 0xec, 8, 0x48, 0x89, 0xfb, 0xc3};
  Plan plan;
  ASSERT_EQ(make_plan({kAddress, code}, plan), Refusal::kNone);
  EXPECT_EQ(plan.patch_at, 2);
  EXPECT_EQ(plan.patch(), kAddress + 2);
  EXPECT_EQ(plan.end, 9);
  EXPECT_EQ(plan.moved_count, 4);
  EXPECT_EQ(plan.forbidden(), (Range<std::uint64_t>{kAddress + 3, kAddress + 7}));
}

TEST(Plan, AddressesAreTranslatedBothWays) {
  //                  je +0x10 (becomes 6 bytes); mov %rdi,%rax; ret
  const Bytes code = {0x74, 0x10, 0x48, 0x89, 0xf8, 0xc3};
  constexpr std::uint64_t kCopy = 0x500000;
  Plan plan;
  ASSERT_EQ(make_plan({kAddress, code}, plan), Refusal::kNone);
  EXPECT_EQ(plan.moved_pc(kAddress, kCopy), kCopy);
  EXPECT_EQ(plan.moved_pc(kAddress + 2, kCopy), kCopy + 6);
  EXPECT_EQ(plan.moved_pc(kAddress + 1, kCopy), 0u);
  EXPECT_EQ(plan.moved_pc(kAddress + 5, kCopy), 0u);
  EXPECT_EQ(plan.original_pc(kCopy, kCopy), kAddress);
  EXPECT_EQ(plan.original_pc(kCopy + 3, kCopy), kAddress);
  EXPECT_EQ(plan.original_pc(kCopy + 6, kCopy), kAddress + 2);
}

TEST(Plan, ACopyThatIsTooFarIsRefused) {
  const Bytes code = {0x48, 0x8b, 0x05, 1, 0, 0, 0, 0xc3};  // mov 1(%rip),%rax
  Plan plan;
  const Function function{kAddress, code};
  ASSERT_EQ(make_plan(function, plan), Refusal::kNone);
  std::array<std::uint8_t, Plan::kMostCopyBytes> copy;
  EXPECT_EQ(build_copy(plan, function, kAddress + 0x1000, copy), Refusal::kNone);
  EXPECT_EQ(build_copy(plan, function, kAddress + 0x90000000, copy), Refusal::kTooFar);
}

}  // namespace
}  // namespace swipr::trace
