#include "common/core/quantile_text.h"

#include <gtest/gtest.h>

namespace swipr {
namespace {

TEST(QuantileText, IsAShareOfValues) {
  EXPECT_EQ(parse_quantile("p95"), 95'000u);
  EXPECT_EQ(parse_quantile("p5"), 5'000u);
  EXPECT_EQ(parse_quantile("p50.5"), 50'500u);
  EXPECT_EQ(parse_quantile("p99.9"), 99'900u);
  EXPECT_EQ(parse_quantile("p99.999"), 99'999u);
  EXPECT_EQ(parse_quantile("p0.001"), 1u);
}

TEST(QuantileText, IsNothingElse) {
  for (const char* text : {"", "p", "95", "p0", "p00.000", "p100", "p.5", "p9.", "p99.9999", "p-1",
                           "p9x", "px", "P95", "p95 ", "5ms", "p99,9"}) {
    EXPECT_EQ(parse_quantile(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace swipr
