// Commands that trace functions, and --split.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/options/parsed.h"

namespace swipr::options {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ParseLatency, TakesFunctionsAndLimits) {
  const auto options = parsed<LatencyOptions>(
      {"latency", "--pid", "7", "shop::buy(int)", "-i", "1s", "'f*'", "--count", "3", "-d", "10s",
       "--max-overhead", "5%", "--json", "--at", "shop.cc:12", "--threads"});
  EXPECT_EQ(options.trace.pid, Pid{7});
  EXPECT_THAT(options.trace.functions, ElementsAre("shop::buy(int)", "'f*'"));
  EXPECT_EQ(options.interval, 1s);
  EXPECT_EQ(options.count, 3u);
  EXPECT_EQ(options.trace.duration, 10s);
  EXPECT_EQ(options.trace.max_overhead_permille, 50u);
  EXPECT_EQ(options.trace.site, "shop.cc:12");
  EXPECT_TRUE(options.threads);
  EXPECT_TRUE(options.json);
  EXPECT_EQ(parsed<LatencyOptions>({"latency", "--name", "x", "f"}).interval, 0s);
}

TEST(ParseLatency, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(error_of({"latency", "f"}), HasSubstr("either --pid N or --name NAME"));
  EXPECT_THAT(error_of({"latency", "--pid", "7", "--name", "x", "f"}), HasSubstr("either --pid N"));
  EXPECT_THAT(error_of({"latency", "--pid", "7"}), HasSubstr("a FUNCTION is required"));
  EXPECT_THAT(error_of({"latency", "--pid", "7", "f", "-i", "5ms"}), HasSubstr("10ms and 1h"));
  EXPECT_THAT(error_of({"latency", "--pid", "7", "f", "--count", "5"}),
              HasSubstr("only with --interval"));
}

TEST(ParseSlower, TakesTheThresholdFromTheEnd) {
  const auto options = parsed<SlowerOptions>(
      {"slower", "--pid", "7", "f", "g", "1.5ms", "--count", "3", "--args", "0", "--stack"});
  EXPECT_THAT(options.trace.functions, ElementsAre("f", "g"));
  EXPECT_EQ(options.threshold, "1500 us");
  EXPECT_EQ(options.count, 3u);
  EXPECT_EQ(options.arguments, 0u);
  EXPECT_TRUE(options.stack);
  const auto few = parsed<SlowerOptions>({"slower", "--name", "x", "f", "p99.9"});
  EXPECT_EQ(few.threshold, "p99.9");
  EXPECT_EQ(few.arguments, std::nullopt);  // all that are known
}

TEST(ParseSlower, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(error_of({"slower", "--pid", "7", "5ms"}), HasSubstr("a FUNCTION is required"));
  EXPECT_THAT(error_of({"slower", "--pid", "7", "f"}), HasSubstr("a FUNCTION is required"));
  EXPECT_THAT(error_of({"slower", "--pid", "7", "f", "g"}), HasSubstr("not 'g'"));
  EXPECT_THAT(error_of({"slower", "--pid", "7", "f", "p100"}), HasSubstr("not 'p100'"));
  EXPECT_THAT(error_of({"slower", "--pid", "7", "f", "1ms", "--args", "65"}), HasSubstr("--args"));
}

TEST(ParseTrace, FillsEveryField) {
  const auto options =
      parsed<TraceRecordOptions>({"trace", "--pid", "7", "f", "g", "-d", "10s", "--rate", "50",
                                  "-o", "x.swipr", "--embed-symbols"});
  EXPECT_THAT(options.trace.functions, ElementsAre("f", "g"));
  EXPECT_EQ(options.trace.duration, 10s);
  EXPECT_EQ(options.interval, 20ms);
  EXPECT_EQ(options.output, "x.swipr");
  EXPECT_TRUE(options.embeds_symbols);
  EXPECT_EQ(parsed<TraceRecordOptions>({"trace", "--name", "x", "f"}).interval, 10ms);
  EXPECT_THAT(error_of({"trace", "--pid", "7"}), HasSubstr("a FUNCTION is required"));
  EXPECT_THAT(error_of({"trace", "--pid", "7", "f", "-o", "-"}), HasSubstr("use -o FILE"));
}

TEST(ParseSplit, TakesFunctionThresholdAndPart) {
  const auto options =
      parsed<ReportOptions>({"report", "x", "--split", "a::f(int):p99.9:normal", "--split", "1.5ms",
                             "--split", "g:5 ms:slow", "--split", "g:p50:difference"});
  const auto& splits = options.filters.splits;
  ASSERT_EQ(splits.size(), 4u);
  EXPECT_EQ(splits[0].function, "a::f(int)");
  EXPECT_EQ(splits[0].quantile, 99'900u);
  EXPECT_EQ(splits[0].part, SplitPart::kNormal);
  EXPECT_EQ(splits[1].function, "");
  EXPECT_EQ(splits[1].quantile, 0u);
  EXPECT_EQ(splits[1].threshold, 1500us);
  EXPECT_EQ(splits[1].part, SplitPart::kSlow);
  EXPECT_EQ(splits[2].function, "g");
  EXPECT_EQ(splits[2].threshold, 5ms);
  EXPECT_EQ(splits[3].part, SplitPart::kDifference);
  for (const char* const text : {"f", "p100", "f:", ":slow", "f:0ms", "f:p95:fast", ""}) {
    EXPECT_THAT(error_of({"report", "x", "--split", text}), HasSubstr("[FUNCTION:]THRESHOLD"))
        << text;
  }
}

}  // namespace
}  // namespace swipr::options
