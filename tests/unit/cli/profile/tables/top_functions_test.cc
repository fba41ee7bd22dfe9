#include "cli/profile/tables/top_functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "tests/golden/golden_recording.h"

namespace swipr::profile {
namespace {

TopFunctions top(Weight weight) {
  const golden::Golden input = golden::make_golden();
  return top_functions(input.recording, input.names, weight);
}

const TopFunction* find(const TopFunctions& top, std::string_view name) {
  const auto place = std::find_if(top.functions.begin(), top.functions.end(),
                                  [name](const auto& entry) { return entry.function == name; });
  return place == top.functions.end() ? nullptr : &*place;
}

TEST(TopFunctions, AreSortedBySelfWeight) {
  const TopFunctions result = top(Weight::kSamples);
  EXPECT_EQ(result.total, 61u);
  ASSERT_GE(result.functions.size(), 2u);
  EXPECT_EQ(result.functions[0].function, "__poll");
  EXPECT_EQ(result.functions[0].self, 55u);
  EXPECT_EQ(result.functions[1].function, "mix(unsigned int)");
}

TEST(TopFunctions, CountRecursionOnce) {
  const TopFunctions result = top(Weight::kSamples);
  const TopFunction* burn = find(result, "(anonymous namespace)::burn(std::vector<int> const&)");
  ASSERT_NE(burn, nullptr);
  EXPECT_EQ(burn->self, 0u);   // mix is inlined into it
  EXPECT_EQ(burn->total, 3u);  // one of the three is recursive
}

TEST(TopFunctions, ShowSamplesWithoutAStack) {
  const TopFunctions result = top(Weight::kSamples);
  ASSERT_NE(find(result, "[no stack]"), nullptr);
  EXPECT_EQ(find(result, "[no stack]")->self, 1u);
}

TEST(TopFunctions, LeaveOutWhatWeighsNothing) {
  EXPECT_EQ(find(top(Weight::kCpu), "__poll"), nullptr);
}

}  // namespace
}  // namespace swipr::profile
