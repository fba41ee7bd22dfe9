#include "cli/trace/slow_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace swipr::tracing {
namespace {

using testing::HasSubstr;
using testing::Not;

NamedSlowCall slow_call() {
  NamedSlowCall call;
  call.time = "12:00:01.000000";
  call.thread = "worker-3 4711";
  call.function = "shop::buy(int)";
  call.record.flags = wire::kSlowHasArguments | wire::kSlowHasStack;
  call.record.duration_ns = 8'300'000;
  call.record.result = ~std::uint64_t{0};
  call.record.arguments = {7, 0x7f0000001000, 3};
  call.argument_count = 2;
  call.callers = {{"inner", "/src/shop.cc", 12, true},
                  {"serve", "/src/shop.cc", 30, false},
                  {"run", "", 0, false},
                  {"main", "/src/main.cc", 5, false}};
  call.is_whole = true;
  return call;
}

TEST(SlowText, HasArgumentsResultAndTheNearestCallers) {
  const std::string text = format_slow_call(slow_call(), false);
  EXPECT_THAT(text, HasSubstr("worker-3 4711"));
  EXPECT_THAT(text, HasSubstr("8.3 ms  shop::buy(7, 0x7f0000001000) = -1\n"));
  EXPECT_THAT(text, HasSubstr("from inner shop.cc:12 < serve shop.cc:30 < run < …\n"));
}

TEST(SlowText, HasAllCallersIfWanted) {
  NamedSlowCall call = slow_call();
  std::string text = format_slow_call(call, true);
  EXPECT_THAT(text, HasSubstr("inner shop.cc:12 (inlined)\n"));
  EXPECT_THAT(text, HasSubstr("main main.cc:5\n"));
  EXPECT_THAT(text, Not(HasSubstr("…")));
  call.is_whole = false;
  text = format_slow_call(call, true);
  EXPECT_TRUE(text.ends_with("…\n"));
}

TEST(SlowText, SaysWhatIsNotKnown) {
  NamedSlowCall call = slow_call();
  call.record.flags = wire::kSlowUnwound;
  call.callers.clear();
  EXPECT_THAT(format_slow_call(call, false), HasSubstr("shop::buy(?, ?) threw\n"));
  call.argument_count = 0;
  EXPECT_THAT(format_slow_call(call, true), HasSubstr("shop::buy(int) threw\n"));
}

TEST(SlowText, ShowsSmallNumbersInDecimal) {
  EXPECT_EQ(format_argument(0), "0");
  EXPECT_EQ(format_argument(10'000'000), "10000000");
  EXPECT_EQ(format_argument(~std::uint64_t{0} - 1), "-2");
  EXPECT_EQ(format_argument(0xffffffff), "0xffffffff");
  EXPECT_EQ(format_argument(std::uint64_t{1} << 63), "0x8000000000000000");
}

TEST(SlowText, TellsControlCharactersFromNames) {
  NamedSlowCall call = slow_call();
  call.thread = "evil\x1b[2J 1";
  EXPECT_THAT(format_slow_call(call, false), Not(HasSubstr("\x1b")));
}

TEST(SlowText, SummarisesCountsTimesAndLosses) {
  Probe probe;
  probe.all.add_bucket(10, 200);
  probe.all.add_totals({std::chrono::nanoseconds(1000), {}, 0, 0});
  probe.counts = {std::chrono::milliseconds(4), 10, std::chrono::nanoseconds(700), 3, 5};
  const SlowSummary summary{"buy", "p95", &probe};
  const std::string text = format_slow_summary({&summary, 1});
  EXPECT_THAT(text, HasSubstr("buy: 200 calls, 10 slower than p95 (now 4 ms): 5.0 % of the calls, "
                              "70.0 % of the time\n"));
  EXPECT_THAT(text, HasSubstr("3 of them are not listed"));
  EXPECT_THAT(text, HasSubstr("5 more calls from elsewhere"));
}

}  // namespace
}  // namespace swipr::tracing
