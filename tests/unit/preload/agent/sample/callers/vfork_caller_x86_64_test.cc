#include <gtest/gtest.h>

#include <cstring>

#include "preload/agent/sample/callers/vfork_caller.h"
#include "tests/unit/preload/agent/sample/callers/code_page.h"

namespace swipr::agent {
namespace {

using unwind::CfiImage;

constexpr std::size_t kBytes = 4096;
// Offsets of functions of 256 bytes.
constexpr std::uint64_t kVfork = 0;
constexpr std::uint64_t kParent = 256;
constexpr std::uint64_t kCold = 512;
constexpr std::uint64_t kOther = 768;

class VforkCallerTest : public CodePageTest {
 protected:
  VforkCallerTest() : CodePageTest(kBytes) {
    std::memset(code_, 0x90, kBytes);
    CfiImage image;
    const std::size_t cie = image.add_cie();
    for (const std::uint64_t function : {kVfork, kParent, kCold, kOther}) {
      image.add_fde(cie, CfiImage::kText + function, 256, {});
    }
    build_table(image);
  }

  // The offset after a call at `offset`.
  std::uint64_t put_call(std::uint64_t offset, std::uint64_t target) {
    put_call_before(offset + 5, target);
    return offset + 5;
  }
  // Offset of the result; 0: none.
  std::uint64_t find(std::uint64_t below) const {
    const unwind::CodeMap map(std::span(&range_, 1));
    const auto found = find_vfork_return(memory_, map, at(kVfork + 20), at(below));
    return found ? *found - at(0) : 0;
  }
};

TEST_F(VforkCallerTest, FindsTheCallInTheFunctionThatTheChildIsIn) {
  const std::uint64_t call = put_call(kParent + 32, kVfork);
  const std::uint64_t childs = put_call(kParent + 64, kOther);
  EXPECT_EQ(find(call), call) << "the child has called nothing yet";
  EXPECT_EQ(find(childs), call);
  put_call(kParent + 32, kOther);
  EXPECT_EQ(find(put_call(kParent + 96, kOther)), kParent + 101) << "none: the child's own";
  EXPECT_EQ(find(put_call(kCold + 16, kOther)), kCold + 21);
}

TEST_F(VforkCallerTest, OfSeveralCallsTheLastBeforeTheChilds) {
  put_call(kParent + 16, kVfork);
  const std::uint64_t second = put_call(kParent + 32, kVfork);
  const std::uint64_t childs = put_call(kParent + 64, kOther);
  put_call(kParent + 128, kVfork);
  EXPECT_EQ(find(childs), second);
}

TEST_F(VforkCallerTest, AWordThatIsNoReturnAddressLeadsNowhere) {
  put_call(kParent + 32, kVfork);
  EXPECT_EQ(find(kParent + 80), 0u) << "no call";
  EXPECT_EQ(find(kBytes + 5), 0u) << "no code";
  EXPECT_EQ(find(put_call(1100, kOther)), 0u) << "no CFI";
  const unwind::CodeMap map(std::span(&range_, 1));
  EXPECT_FALSE(find_vfork_return(memory_, map, at(kVfork + 20), 0));
  EXPECT_FALSE(find_vfork_return(memory_, map, at(1200), at(kParent + 37)));
}

TEST_F(VforkCallerTest, CodeThatCannotBeReadIsSearchedNoFurther) {
  const std::uint64_t childs = put_call(kParent + 64, kOther);
  std::memset(code_ + kParent, 0x66, 32);  // no instruction
  put_call(kParent + 32, kVfork);
  EXPECT_EQ(find(childs), childs);
}

}  // namespace
}  // namespace swipr::agent
