#include "common/core/duration_text.h"

#include <gtest/gtest.h>

namespace swipr {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

nanoseconds parsed(std::string_view text) {
  nanoseconds out{-1};
  return parse_duration_text(text, out, 1ms) == DurationError::kNone ? out : nanoseconds{-1};
}

TEST(DurationText, TakesEveryUnit) {
  EXPECT_EQ(parsed("100 ms"), 100ms);
  EXPECT_EQ(parsed("10us"), 10us);
  EXPECT_EQ(parsed("10 \xc2\xb5s"), 10us);
  EXPECT_EQ(parsed("1 s"), 1s);
  EXPECT_EQ(parsed("50"), 50ms);
  EXPECT_EQ(parsed(" 7ns "), 7ns);
  EXPECT_EQ(parsed("2min"), 2min);
  EXPECT_EQ(parsed("1h"), 1h);
  EXPECT_EQ(parsed("1.25 s"), 1250ms);
  EXPECT_EQ(parsed("0.0000000019 s"), 1ns);
}

TEST(DurationText, RefusesTheRest) {
  for (const char* text : {"", "ms", "-1 ms", "1 fortnight", "1.", "1. s", "1,5 s", "1 s s",
                           "99999999999999999999", "9999999999 h", "1e3 ms"}) {
    EXPECT_EQ(parsed(text), nanoseconds{-1}) << text;
  }
}

TEST(DurationText, RefusesABareNumberWithoutADefaultUnit) {
  nanoseconds out{-1};
  EXPECT_EQ(parse_duration_text("50", out), DurationError::kNoUnit);
  EXPECT_EQ(out, nanoseconds{-1});
}

TEST(DurationText, EndsAtItsLimit) {
  nanoseconds out{0};
  EXPECT_EQ(parse_duration_text("876000h", out), DurationError::kNone);
  EXPECT_EQ(out, kMaxDuration);
  EXPECT_EQ(parse_duration_text("876000.000000001h", out), DurationError::kTooLong);
  EXPECT_EQ(parse_duration_text("9223372036 s", out), DurationError::kTooLong);
}

}  // namespace
}  // namespace swipr
