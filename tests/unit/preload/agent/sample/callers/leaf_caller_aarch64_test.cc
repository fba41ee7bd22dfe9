#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>

#include "preload/agent/sample/callers/leaf_caller.h"
#include "tests/unit/preload/agent/sample/callers/code_page.h"

namespace swipr::agent {
namespace {

using unwind::Bytes;
using unwind::CfiImage;

constexpr std::size_t kBytes = 4096;
// Offsets of functions of 256 bytes. All but the leaf store their return addresses: kOther in the
// first word of its frame, the others behind x29.
constexpr std::uint64_t kLeaf = 0, kCaller = 256, kOuter = 512, kOther = 768, kLargeFrame = 1024;
constexpr std::uint64_t kPlt = 2048, kGot = 3072;  // without CFI
constexpr std::uint64_t kReturn = kOuter + 64;
// Words of the stack: where the leaf's frame ends, and where the record in the larger one is.
constexpr std::size_t kRecord = 2, kRecordInLargeFrame = kRecord + 4;

class LeafCallerTest : public CodePageTest {
 protected:
  LeafCallerTest() : CodePageTest(kBytes) {
    for (std::uint64_t offset = 0; offset < kBytes; offset += 4) put(offset, 0xd503201f);  // nop
    CfiImage image;
    const std::size_t cie = image.add_cie(Bytes{0x0c, 31, 16}, {.return_address = 30});
    image.add_fde(cie, CfiImage::kText + kLeaf, 256, {});
    image.add_fde(cie, CfiImage::kText + kOther, 256, {0x9e, 2});
    for (const std::uint64_t function : {kCaller, kOuter}) {
      image.add_fde(cie, CfiImage::kText + function, 256, {0x9d, 2, 0x9e, 1});  // CFA - 16, - 8
    }
    image.add_fde(cie, CfiImage::kText + kLargeFrame, 256, {0x0e, 64, 0x9d, 4, 0x9e, 3});
    build_table(image);
    stack_[kRecord + 1] = at(kReturn);
  }

  void put(std::uint64_t offset, std::uint32_t instruction) {
    std::memcpy(code_ + offset, &instruction, sizeof instruction);
  }
  void put_jump(std::uint64_t offset, std::uint64_t target) {
    put(offset, 0x14000000 | (static_cast<std::uint32_t>(target - offset) >> 2 & 0x3ffffff));
  }
  // adrp x16, page; ldr x17, [x16, #offset]; add x16, x16, #offset; br x17
  void put_plt_entry(std::uint64_t offset, std::uint64_t got, std::uint64_t target) {
    put(offset, 0x90000010);  // of this page
    put(offset + 4, 0xf9400211 | static_cast<std::uint32_t>(got / 8) << 10);
    put(offset + 8, 0x91000210 | static_cast<std::uint32_t>(got) << 10);
    put(offset + 12, 0xd61f0220);
    const std::uint64_t address = at(target);
    std::memcpy(code_ + got, &address, sizeof address);
  }
  void put_call(std::uint64_t offset, std::uint64_t target) { put_call_before(offset + 4, target); }
  // Offset of the result; 0: none.
  std::uint64_t find(std::uint64_t leaf = kLeaf) {
    const unwind::CodeMap map(std::span(&range_, 1));
    const auto sp = reinterpret_cast<std::uint64_t>(stack_.data());
    const LeafCallers callers = propose_leaf_callers(memory_, map, at(leaf + 32), sp);
    if (callers.count == 0) return 0;
    EXPECT_EQ(callers.leaf, at(leaf));
    EXPECT_EQ(callers.stack, sp + 16);
    const LeafCall call = find_leaf_call(memory_, map, callers);
    behind_jump_ = call.behind_jump == 0 ? 0 : call.behind_jump - at(0);
    return call.behind == 0 ? 0 : call.behind - at(0);
  }

  std::array<std::uint64_t, 112> stack_{};
  std::uint64_t behind_jump_ = 0;  // offset; 0: none
};

TEST_F(LeafCallerTest, IsTheFunctionThatReturnsToTheWordInItsFrame) {
  put_call(kReturn - 4, kCaller);
  put_call(kOther + 8, kLeaf);
  EXPECT_EQ(find(), 0u) << "it does not call the leaf";
  put_call(kCaller + 40, kOther);
  put_call(kCaller + 80, kLeaf);
  put_call(kCaller + 120, kLeaf);
  EXPECT_EQ(find(), kCaller + 84);
}

TEST_F(LeafCallerTest, MayHaveBeenReachedByAJump) {
  std::swap(stack_[kRecord], stack_[kRecord + 1]);
  put_call(kReturn - 4, kCaller);
  put_jump(kCaller + 8, kCaller + 16);
  put_jump(kCaller + 32, kOther);
  put_call(kOther + 80, kLeaf);
  EXPECT_EQ(find(), kOther + 84);
  EXPECT_EQ(behind_jump_, kCaller + 36);
  put_jump(kCaller + 32, kOther + 4);
  EXPECT_EQ(find(), 0u) << "no function begins there";
}

TEST_F(LeafCallerTest, MayHaveBeenReachedByTwoJumps) {
  stack_[kRecordInLargeFrame + 1] = std::exchange(stack_[kRecord + 1], 0);
  put_call(kReturn - 4, kCaller);
  put_jump(kCaller + 32, kOther);
  put_jump(kOther + 8, kLargeFrame);
  put_call(kLargeFrame + 80, kLeaf);
  EXPECT_EQ(find(), kLargeFrame + 84);
  EXPECT_EQ(behind_jump_, kCaller + 36);
}

TEST_F(LeafCallerTest, MayCallAFunctionThatJumpsToTheLeaf) {
  put_call(kReturn - 4, kCaller);
  put_call(kCaller + 80, kOther);
  put_jump(kOther + 60, kLeaf);
  EXPECT_EQ(find(), kCaller + 84);
  put_jump(kOther + 60, kLeaf + 4);
  EXPECT_EQ(find(), 0u);
  put_jump(kOther + 64, kLeaf);
  EXPECT_EQ(find(), 0u) << "after too many instructions";
}

TEST_F(LeafCallerTest, MayHaveNoFramePointer) {
  put_call(kReturn - 4, kOther);
  put_call(kOther + 80, kLeaf);
  EXPECT_EQ(find(), 0u);
  std::swap(stack_[kRecord], stack_[kRecord + 1]);
  EXPECT_EQ(find(), kOther + 84);
}

TEST_F(LeafCallerTest, CallsMayGoThroughLinkageTables) {
  put_plt_entry(kPlt, kGot, kCaller);
  put_plt_entry(kPlt + 16, kGot + 8, kLeaf);
  put_call(kReturn - 4, kPlt);
  put_call(kCaller + 80, kPlt + 16);
  EXPECT_EQ(find(), kCaller + 84);
}

TEST_F(LeafCallerTest, IsUnknownIfNoDirectCallLedThere) {
  put_call(kCaller + 80, kLeaf);
  EXPECT_EQ(find(), 0u) << "no call";
  put(kReturn - 4, 0xd63f0000);  // blr x0
  EXPECT_EQ(find(), 0u);
  stack_[kRecord + 1] = 0;
  EXPECT_EQ(find(), 0u);
}

TEST_F(LeafCallerTest, HasItsReturnAddressWhereItsCfiSays) {
  put_call(kReturn - 4, kLargeFrame);
  put_call(kLargeFrame + 80, kLeaf);
  EXPECT_EQ(find(), 0u);
  std::swap(stack_[kRecord + 1], stack_[kRecordInLargeFrame + 1]);
  EXPECT_EQ(find(), kLargeFrame + 84);
}

TEST_F(LeafCallerTest, IsUnknownIfTwoFunctionsPass) {
  put_call(kReturn - 4, kCaller);
  put_call(kCaller + 80, kLeaf);
  put_call(kOuter + 128, kLargeFrame);
  stack_[kRecordInLargeFrame + 1] = at(kOuter + 132);
  EXPECT_EQ(find(), kCaller + 84) << "the other one does not call the leaf";
  put_call(kLargeFrame + 80, kLeaf);
  EXPECT_EQ(find(), 0u);
}

TEST_F(LeafCallerTest, FunctionsThatStoreTheirReturnAddressAreNoLeaves) {
  put_call(kReturn - 4, kCaller);
  put_call(kCaller + 80, kOther);
  EXPECT_EQ(find(kOther), 0u);
  EXPECT_EQ(find(kPlt), 0u) << "no CFI";
}

}  // namespace
}  // namespace swipr::agent
