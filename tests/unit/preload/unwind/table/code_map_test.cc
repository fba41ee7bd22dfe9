#include "preload/unwind/table/code_map.h"

#include <gtest/gtest.h>

#include <array>

namespace swipr::unwind {
namespace {

constexpr std::array<CodeRange, 3> kRanges = {
    {{0x1000, 0x2000, 0, nullptr}, {0x2000, 0x2800, 0, nullptr}, {0x5000, 0x6000, 0, nullptr}}};

TEST(CodeMap, FindsTheRangeOfAnAddress) {
  const CodeMap map(kRanges);
  EXPECT_EQ(map.find(0x1000), &map.ranges()[0]);
  EXPECT_EQ(map.find(0x1fff), &map.ranges()[0]);
  EXPECT_EQ(map.find(0x2000), &map.ranges()[1]);
  EXPECT_EQ(map.find(0x5fff), &map.ranges()[2]);
}

TEST(CodeMap, FindsNothingBetweenRanges) {
  const CodeMap map(kRanges);
  for (const std::uint64_t pc : {0x0ull, 0xfffull, 0x2800ull, 0x4fffull, 0x6000ull, ~0ull}) {
    EXPECT_EQ(map.find(pc), nullptr) << std::hex << pc;
  }
  EXPECT_EQ(CodeMap({}).find(0x1000), nullptr);
}

}  // namespace
}  // namespace swipr::unwind
