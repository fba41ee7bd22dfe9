#include "common/core/ascii_text.h"

#include <gtest/gtest.h>

namespace swipr {
namespace {

TEST(AsciiText, CaseIsIgnoredInLettersOnly) {
  EXPECT_TRUE(equal_ignoring_case("Content-Length", "content-LENGTH"));
  EXPECT_FALSE(equal_ignoring_case("host", "hosts"));
  EXPECT_FALSE(equal_ignoring_case("[", "{"));  // 32 apart, as letters are
  EXPECT_TRUE(contains_ignoring_case("std::Vector", "vec"));
  EXPECT_TRUE(contains_ignoring_case("a", ""));
  EXPECT_TRUE(contains_ignoring_case("", ""));
  EXPECT_FALSE(contains_ignoring_case("ab", "abc"));
}

TEST(AsciiText, BlanksAreCutOffBothEnds) {
  EXPECT_EQ(trimmed(" \ta b\r "), "a b");
  EXPECT_EQ(trimmed(" \t"), "");
  EXPECT_EQ(trimmed(""), "");
}

}  // namespace
}  // namespace swipr
