#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "preload/agent/sample/callers/return_place.h"
#include "tests/unit/preload/agent/sample/callers/code_page.h"

namespace swipr::agent {
namespace {

using unwind::CfiImage;
using Code = std::vector<std::uint32_t>;

constexpr std::size_t kBytes = 8192;
constexpr std::uint64_t kGap = 256, kBehind = 6144;
constexpr std::uint32_t kReturn = 0xd65f03c0, kNop = 0xd503201f;

class ReturnPlaceTest : public CodePageTest {
 protected:
  ReturnPlaceTest() : CodePageTest(kBytes) {
    CfiImage image;
    const std::size_t cie = image.add_cie(unwind::Bytes{0x0c, 31, 0}, {.return_address = 30});
    image.add_fde(cie, CfiImage::kText, kGap, {});
    image.add_fde(cie, CfiImage::kText + kBehind, 64, {});
    build_table(image);
  }
  // Of code without CFI.
  std::optional<StackPlace> place(const Code& code) {
    std::memcpy(code_ + kGap, code.data(), code.size() * sizeof code[0]);
    const unwind::CodeMap map(std::span(&range_, 1));
    return ReturnPlaces().find(memory_, *CodeGap::find(map, at(kGap)));
  }
};

TEST_F(ReturnPlaceTest, IsWhereTheStackPointerWillBe) {
  EXPECT_EQ(place({kReturn}), StackPlace{});
  EXPECT_EQ(place({0x910203ff, kReturn}), StackPlace{.offset = 128});  // add sp, sp, #128
  // ldp d8, d9, [sp]; ldp x19, x20, [sp, #16]; add sp, sp, #1, lsl #12; add sp, sp, #176
  EXPECT_EQ(place({0x6d4027e8, 0xa94153f3, 0x914007ff, 0x9102c3ff, kReturn}),
            StackPlace{.offset = 4096 + 176});
  // ldp d8, d9, [sp], #32; ldr x19, [sp], #16; ldr q8, [sp], #16; ldp q8, q9, [sp], #32
  EXPECT_EQ(place({0x6cc227e8, 0xf84107f3, 0x3cc107e8, 0xacc127e8, kReturn}),
            StackPlace{.offset = 96});
  // sub sp, sp, #32; stp x19, x20, [sp, #-16]!; add sp, sp, #48
  EXPECT_EQ(place({0xd10083ff, 0xa9bf53f3, 0x9100c3ff, kReturn}), StackPlace{});
}

TEST_F(ReturnPlaceTest, MayComeFromAnotherRegister) {
  constexpr std::uint32_t kMovSpX19 = 0x9100027f;
  EXPECT_EQ(place({kMovSpX19, 0x910183ff, kReturn}), (StackPlace{.reg = 19, .offset = 96}));
  // mov x19, sp; sub sp, sp, #64; mov sp, x19
  EXPECT_EQ(place({0x910003f3, 0xd10103ff, kMovSpX19, kReturn}), StackPlace{});
  EXPECT_EQ(place({0xf9400013, kMovSpX19, kReturn}), std::nullopt);  // ldr x19, [x0]
  EXPECT_EQ(place({0x927cec1f, kReturn}), std::nullopt);             // and sp, x0, #~15
  EXPECT_EQ(place({0xcb2163ff, kReturn}), std::nullopt);             // sub sp, sp, x1
}

TEST_F(ReturnPlaceTest, IsUnknownIfTheReturnAddressLeavesItsRegister) {
  EXPECT_EQ(place({0xa8c17bfd, kReturn}), std::nullopt);  // ldp x29, x30, [sp], #16
  EXPECT_EQ(place({0xf94007fe, kReturn}), std::nullopt);  // ldr x30, [sp, #8]
  EXPECT_EQ(place({0x94000001, kReturn}), std::nullopt);  // bl
  EXPECT_EQ(place({0xd63f0000, kReturn}), std::nullopt);  // blr x0
  EXPECT_EQ(place({0xd4200020, kReturn}), std::nullopt);  // brk #1
}

TEST_F(ReturnPlaceTest, ConditionalBranchesAreNotTakenAndLoopsAreLeft) {
  // cbz x0, +8; b +8, over an instruction
  EXPECT_EQ(place({0xb4000040, 0x14000002, 0x910043ff, kReturn}), StackPlace{});
  // add sp, sp, #16; b -4
  EXPECT_EQ(place({0x910043ff, 0x17ffffff, kReturn}), StackPlace{.offset = 16});
  EXPECT_EQ(place({0x910043ff, 0x17ffff00}), StackPlace{.offset = 16}) << "to a function with CFI";
  EXPECT_EQ(place({0xd61f0000, 0x910043ff, kReturn}), StackPlace{.offset = 16}) << "br x0";
}

TEST_F(ReturnPlaceTest, MayBeAtTheEndOfWhatIsMapped) {
  EXPECT_EQ(::munmap(code_ + 4096, kBytes - 4096), 0);
  const std::uint32_t end[] = {0x910043ff, kReturn};
  std::memcpy(code_ + 4096 - sizeof end, end, sizeof end);
  const unwind::CodeMap map(std::span(&range_, 1));
  EXPECT_EQ(follow_to_return(memory_, *CodeGap::find(map, at(4096 - sizeof end))),
            StackPlace{.offset = 16});
  EXPECT_EQ(follow_to_return(memory_, *CodeGap::find(map, at(4096))), std::nullopt);
}

TEST_F(ReturnPlaceTest, IsFarAwayInLargeKernels) {
  Code code(1400, kNop);
  code.push_back(0x910043ff);
  code.push_back(kReturn);
  EXPECT_EQ(place(code), StackPlace{.offset = 16});
  EXPECT_EQ(place(Code(1472, kNop)), std::nullopt) << "it ends where CFI begins";
}

}  // namespace
}  // namespace swipr::agent
