#include "cli/commands/compare_unwinders.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace swipr::commands {
namespace {

TEST(DescribeComparison, SaysHowManyAreTheSame) {
  profile::UnwinderComparison comparison;
  comparison.compared = comparison.equal = 1204;
  EXPECT_EQ(describe_comparison(comparison, 0),
            "stacks walked by both                         1,204\n"
            "the same                                      1,204 100.00 %\n");
}

TEST(DescribeComparison, NamesWhatDiffers) {
  profile::UnwinderComparison comparison;
  comparison.compared = 200;
  comparison.equal = 150;
  comparison.other_ends_early = 49;
  comparison.different = 1;
  comparison.differences = {{"leaf", "jit", "", 49}, {"", "a", "b\x1b", 1}};
  EXPECT_EQ(describe_comparison(comparison, 0),
            "stacks walked by both                           200\n"
            "the same                                        150  75.00 %\n"
            "libunwind ends earlier                           49  24.50 %\n"
            "the callers differ                                1   0.50 %\n"
            "\nthe first caller that differs, most frequent first:\n"
            "      49 of leaf: swipr jit, libunwind the stack ends\n"
            "       1 of the innermost frame: swipr a, libunwind b \n");
}

TEST(DescribeComparison, FitsAScreen) {
  profile::UnwinderComparison comparison;
  comparison.compared = 100;
  for (int number = 0; number < 40; ++number) {
    comparison.differences.push_back({"f" + std::to_string(number), std::string(500, 'x'), "", 1});
  }
  const std::string text = describe_comparison(comparison, 80);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 24);
  EXPECT_NE(text.find("26 more kinds of differences\n"), std::string::npos);
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    EXPECT_LE(end - at, 80u);
}

}  // namespace
}  // namespace swipr::commands
