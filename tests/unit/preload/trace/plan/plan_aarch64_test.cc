#include <gtest/gtest.h>

#include <cstring>
#include <ostream>
#include <vector>

#include "preload/trace/plan/branches.h"
#include "preload/trace/plan/plan.h"

namespace swipr::trace {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::uint64_t kAddress = 0x400000;
constexpr std::uint32_t kRet = 0xd65f03c0, kNop = 0xd503201f, kMove = 0xaa0103e0;  // mov x0,x1
constexpr std::uint32_t kPush = 0xa9be7bfd;  // stp x29,x30,[sp,#-32]!

std::span<const std::uint8_t> bytes_of(const Words& code) {
  return {reinterpret_cast<const std::uint8_t*>(code.data()), code.size() * sizeof code[0]};
}

struct RefusalCase {
  const char* text;
  Words code;
  Refusal refusal;
};
void PrintTo(const RefusalCase& c, std::ostream* out) { *out << c.text; }

class PlanRefusal : public testing::TestWithParam<RefusalCase> {};

TEST_P(PlanRefusal, HasItsReason) {
  Plan plan;
  EXPECT_EQ(make_plan({kAddress, bytes_of(GetParam().code)}, plan), GetParam().refusal);
  EXPECT_EQ(*refusal_text(GetParam().refusal) == '\0', GetParam().refusal == Refusal::kNone);
}

INSTANTIATE_TEST_SUITE_P(
    All, PlanRefusal,
    testing::Values(
        RefusalCase{"nothing", {}, Refusal::kTooShort}, RefusalCase{"ret", {kRet}, Refusal::kNone},
        RefusalCase{"bti c, and no more", {0xd503245f}, Refusal::kTooShort},
        RefusalCase{"bti c; ret", {0xd503245f, kRet}, Refusal::kNone},
        RefusalCase{"bti jc; ret", {0xd50324df, kRet}, Refusal::kNone},
        RefusalCase{"paciasp; stp", {0xd503233f, kPush, 0xd50323bf, kRet}, Refusal::kNone},
        RefusalCase{"svc", {0xd4000001, kRet}, Refusal::kSystemCall},
        RefusalCase{"brk", {0xd4200000, kRet}, Refusal::kUnmovable},
        RefusalCase{"udf", {0, kRet}, Refusal::kUnmovable},
        RefusalCase{"bl", {0x94000010, kRet}, Refusal::kUnmovable},
        RefusalCase{"blr x1", {0xd63f0020, kRet}, Refusal::kUnmovable},
        RefusalCase{"ldr d0, literal", {0x5c000040, kRet}, Refusal::kUnmovable},
        RefusalCase{"prfm literal", {0xd8000040, kRet}, Refusal::kUnmovable},
        RefusalCase{"paciasppc", {0xdac1a3fe, kRet}, Refusal::kUnmovable},
        RefusalCase{"pacnbibsppc", {0xdac187fe, kRet}, Refusal::kUnmovable},
        RefusalCase{"pacib x30, sp", {0xdac107fe, kRet}, Refusal::kNone},
        RefusalCase{"cpyfp", {0x19010440, kRet}, Refusal::kUnmovable},
        RefusalCase{"setp", {0x19c20400, kRet}, Refusal::kUnmovable},
        RefusalCase{"bc.eq", {0x54000050, kRet}, Refusal::kUnmovable},
        RefusalCase{"br x16", {0xd61f0200}, Refusal::kNone},
        // Reads its return address: setjmp, getcontext, __builtin_return_address, vfork.
        RefusalCase{"stp x29,x30,[x0,#80]", {0xa905781d, kRet}, Refusal::kReadsReturnAddress},
        RefusalCase{"str x30,[x0,#440]", {kNop, 0xf900dc1e, kRet}, Refusal::kReadsReturnAddress},
        RefusalCase{"mov x2,x30", {kNop, 0xaa1e03e2, kRet}, Refusal::kReadsReturnAddress},
        RefusalCase{"xpaclri", {kNop, 0xd50320ff, kRet}, Refusal::kReadsReturnAddress},
        RefusalCase{"ldr x1,[x29,#8]", {kPush, 0xf94007a1, kRet}, Refusal::kReadsReturnAddress},
        RefusalCase{"ldr x30,[x29,#8]", {kPush, 0xf94007be, kRet}, Refusal::kNone},
        RefusalCase{"str d30,[x0]", {kNop, 0xfd00001e, kRet}, Refusal::kNone},
        RefusalCase{
            "mov x8,#220; svc", {0xd2801b88, 0xd4000001, kRet}, Refusal::kReadsReturnAddress},
        RefusalCase{
            "mov w8,#435; svc", {0x52803668, 0xd4000001, kRet}, Refusal::kReadsReturnAddress},
        RefusalCase{
            "stp x29,x30; mov x8,#220", {kPush, 0xd2801b88, 0xd4000001, kRet}, Refusal::kNone},
        // Loops back to the first instruction.
        RefusalCase{"b to the begin", {kMove, 0x17ffffff}, Refusal::kBranchInto},
        RefusalCase{"cbz to the begin", {kMove, 0xb4ffffe0, kRet}, Refusal::kBranchInto},
        RefusalCase{"tbz to the begin", {kMove, 0x3607ffe0, kRet}, Refusal::kBranchInto},
        RefusalCase{
            "b.eq behind bti c", {0xd503245f, kMove, 0x54ffffe0, kRet}, Refusal::kBranchInto},
        RefusalCase{"b.eq to the second one", {kNop, kMove, 0x54ffffe0, kRet}, Refusal::kNone},
        RefusalCase{"recursion", {kPush, 0x97ffffff, kRet}, Refusal::kNone}));

TEST(Plan, LandingsStayBeforeThePatch) {
  const Words code = {0xd503233f, kPush, kMove, kRet};
  Plan plan;
  ASSERT_EQ(make_plan({kAddress, bytes_of(code)}, plan), Refusal::kNone);
  EXPECT_EQ(plan.patch(), kAddress + 4);
  EXPECT_EQ(plan.end, 8);
  EXPECT_EQ(plan.moved_count, 2);
  EXPECT_EQ(plan.copy_bytes, 12);
}

TEST(Plan, AddressesAreTranslatedBack) {
  const Words code = {0x54000060, kMove, kRet, kRet};  // b.eq +12: three instructions
  constexpr std::uint64_t kCopy = 0x500000;
  Plan plan;
  ASSERT_EQ(make_plan({kAddress, bytes_of(code)}, plan), Refusal::kNone);
  EXPECT_EQ(plan.copy_bytes, 16);
  EXPECT_EQ(plan.original_pc(kCopy, kCopy), kAddress);
  EXPECT_EQ(plan.original_pc(kCopy + 8, kCopy), kAddress);
  EXPECT_EQ(plan.original_pc(kCopy + 12, kCopy), kAddress + 4);
}

TEST(Plan, ACopyThatIsTooFarIsRefused) {
  const Words code = {kMove, kRet};
  Plan plan;
  const Function function{kAddress, bytes_of(code)};
  ASSERT_EQ(make_plan(function, plan), Refusal::kNone);
  std::array<std::uint8_t, Plan::kMostCopyBytes> copy;
  EXPECT_EQ(build_copy(plan, function, kAddress + 0x1000, copy), Refusal::kNone);
  EXPECT_EQ(build_copy(plan, function, kAddress + 0x7fffff0, copy), Refusal::kNone);
  EXPECT_EQ(build_copy(plan, function, kAddress + 0x8000010, copy), Refusal::kTooFar);
}

TEST(Plan, OtherCodeMayJumpToABeginningButNotBehindIt) {
  const Words function = {0xd503233f, kPush, kRet};
  Plan plan;
  ASSERT_EQ(make_plan({kAddress, bytes_of(function)}, plan), Refusal::kNone);
  constexpr std::uint64_t kOther = kAddress - 16;
  const auto far = [&](std::uint32_t word) {
    return check_far_branches(bytes_of({kNop, word, kNop, kNop}), kOther, plan);
  };
  for (const std::uint32_t jump : {0x14000000u, 0x94000000u}) {  // b, bl
    EXPECT_EQ(far(jump | 3), Refusal::kNone);
    EXPECT_EQ(far(jump | 4), Refusal::kOutsideBranch);
    EXPECT_EQ(far(jump | 5), Refusal::kNone);
  }
  EXPECT_EQ(far(0x54000080), Refusal::kOutsideBranch);  // b.eq
  EXPECT_EQ(far(0xb4000080), Refusal::kOutsideBranch);  // cbz
  EXPECT_EQ(far(0x36000080), Refusal::kOutsideBranch);  // tbz
  const Words without = {kPush, kRet};
  ASSERT_EQ(make_plan({kAddress, bytes_of(without)}, plan), Refusal::kNone);
  EXPECT_EQ(far(0x14000003), Refusal::kNone);
}

TEST(FunctionEntries, CallsAndJumpsAreTold) {
  constexpr std::uint64_t kCode = 0x1000, kEntered = 0x1040;
  const Words code = {0x94000010, 0x540001e1, 0x1400000e};  // bl, b.ne, b
  const auto entries = [&](std::size_t first, std::size_t count) {
    Entries found;
    find_entries(bytes_of(code).subspan(4 * first, 4 * count), kCode + 4 * first, kEntered, found);
    return found;
  };
  EXPECT_TRUE(entries(0, 3).are_calls && entries(0, 3).are_jumps);
  EXPECT_TRUE(entries(0, 1).are_calls && !entries(0, 1).are_jumps);
  EXPECT_TRUE(!entries(1, 1).are_calls && entries(1, 1).are_jumps);
  EXPECT_TRUE(!entries(2, 1).are_calls && entries(2, 1).are_jumps);
}

}  // namespace
}  // namespace swipr::trace
