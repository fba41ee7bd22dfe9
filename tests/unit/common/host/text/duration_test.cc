#include "common/host/text/duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace swipr::host {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

nanoseconds parsed(std::string_view text) {
  const auto duration = parse_duration(text);
  return duration ? *duration : nanoseconds(-1);
}

TEST(ParseDuration, KnowsEveryUnit) {
  EXPECT_EQ(parsed("7ns"), 7ns);
  EXPECT_EQ(parsed("7us"), 7us);
  EXPECT_EQ(parsed("7µs"), 7us);
  EXPECT_EQ(parsed("7ms"), 7ms);
  EXPECT_EQ(parsed("7s"), 7s);
  EXPECT_EQ(parsed("7min"), 7min);
  EXPECT_EQ(parsed("7h"), 7h);
}

TEST(ParseDuration, AllowsBlanksAndAFraction) {
  EXPECT_EQ(parsed("10 ms"), 10ms);
  EXPECT_EQ(parsed(" 10  ms "), 10ms);
  EXPECT_EQ(parsed("1.5s"), 1500ms);
  EXPECT_EQ(parsed("0.001 ms"), 1us);
  EXPECT_EQ(parsed("0.5ns"), 0ns);
}

TEST(ParseDuration, RefusesWhatIsNoDuration) {
  for (std::string_view text :
       {"", "10", "ms", "-1s", "+1s", "1e3s", ".5s", "1.s", "10 fortnights", "0x10s", "1.5.5s"}) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_THAT(duration.error().message(), testing::HasSubstr(std::string(text)));
  }
}

TEST(ParseDuration, EndsAtAHundredYears) {
  EXPECT_EQ(parsed("876000h"), 876000h);
  for (std::string_view text : {"876001h", "3153600000.1s", "9223372036s", "999999999999999999s"}) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_THAT(duration.error().message(), testing::HasSubstr("100 years"));
  }
}

TEST(FormatExactDuration, UsesTheLargestUnitThatFits) {
  EXPECT_EQ(format_exact_duration(10ms), "10 ms");
  EXPECT_EQ(format_exact_duration(1500us), "1500 us");
  EXPECT_EQ(format_exact_duration(90min), "5400 s");
  EXPECT_EQ(format_exact_duration(333'333ns), "333333 ns");
}

TEST(FormatExactDuration, IsReadBackAsItWas) {
  for (nanoseconds duration :
       {nanoseconds(1), nanoseconds(100us), nanoseconds(1234567ns), nanoseconds(1h)}) {
    EXPECT_EQ(parsed(format_exact_duration(duration)), duration);
  }
}

TEST(FormatDuration, KeepsTwoUnitsAtMost) {
  EXPECT_EQ(format_duration(0ns), "0 s");
  EXPECT_EQ(format_duration(820us), "820 us");
  EXPECT_EQ(format_duration(12'340us), "12.3 ms");
  EXPECT_EQ(format_duration(4100ms), "4.1 s");
  EXPECT_EQ(format_duration(59'999ms), "1 min");
  EXPECT_EQ(format_duration(nanoseconds::max()), "106751 d 23 h");
  EXPECT_EQ(format_duration(200s), "3 min 20 s");
  EXPECT_EQ(format_duration(2h + 5min + 9s), "2 h 5 min");
  EXPECT_EQ(format_duration(53h), "2 d 5 h");
}

}  // namespace
}  // namespace swipr::host
