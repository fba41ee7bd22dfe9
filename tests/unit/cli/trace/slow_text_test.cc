#include "cli/trace/slow_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/trace/argument_values.h"

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

symbolize::Value typed(const char* name, symbolize::ValueKind kind, int bits, int number) {
  symbolize::Value value;
  value.name = name;
  value.kind = kind;
  value.bits = static_cast<std::uint8_t>(bits);
  value.registers[0] = static_cast<std::int8_t>(number);
  return value;
}

TEST(SlowText, HasNamesAndTypesIfTheyAreKnown) {
  using symbolize::ValueKind;
  symbolize::Signature signature;
  signature.parameters = {
      typed("fd", ValueKind::kSigned, 32, 0), typed("key", ValueKind::kPointer, 64, 1),
      typed("on", ValueKind::kBoolean, 8, 2), typed("ratio", ValueKind::kUnknown, 0, -1)};
  signature.parameters[1].string = symbolize::StringPlace::kAddress;
  signature.result = typed("", ValueKind::kCharacter, 8, 0);
  NamedSlowCall call = slow_call();
  call.signature = &signature;
  call.argument_count = 9;
  call.record.arguments = {0xffffffff'fffffff9, 0x1000, 0xff01};
  call.record.result = 0x1241;
  EXPECT_THAT(format_slow_call(call, false),
              HasSubstr("shop::buy(fd=-7, key=0x1000, on=true, ratio=?) = 'A'\n"));
  call.record.string_count = 1;
  call.record.strings[0] = {.value = 1, .size = 9, .count = 3, .bytes = {'a', '\n', '"'}};
  EXPECT_THAT(format_slow_call(call, false), HasSubstr(R"(key="a\n\""…, on)"));
  call.argument_count = 2;
  signature.result.kind = ValueKind::kVoid;
  EXPECT_THAT(format_slow_call(call, false), HasSubstr(R"(shop::buy(fd=-7, key="a\n\""…, …))"
                                                       "\n"));
  call.record.flags = wire::kSlowUnwound;
  EXPECT_THAT(format_slow_call(call, false), HasSubstr("fd=?"));
}

TEST(SlowText, AsksForStringsOfWhatItShows) {
  symbolize::Signature signature;
  for (int number = 0; number < 6; ++number) {
    signature.parameters.push_back(typed("s", symbolize::ValueKind::kPointer, 64, number));
    signature.parameters.back().string = symbolize::StringPlace::kAddress;
  }
  EXPECT_EQ(format_string_places(signature, 9), "1111000");
  EXPECT_EQ(format_string_places(signature, 2), "1100000");
  signature.result = typed("", symbolize::ValueKind::kPointer, 64, 0);
  signature.result.string = symbolize::StringPlace::kAddressSizePlace;
  EXPECT_EQ(format_string_places(signature, 9), "1111000");
  EXPECT_EQ(format_string_places(signature, 3), "1110004");
  EXPECT_EQ(format_string_places(signature, 0), "0000000");
}

TEST(SlowText, LeavesOutTypesOfParameters) {
  EXPECT_EQ(without_parameters("f"), "f");
  EXPECT_EQ(without_parameters("shop::buy(int) const"), "shop::buy");
  EXPECT_EQ(without_parameters("(anonymous namespace)::f(void (*)(int), int)"),
            "(anonymous namespace)::f");
  EXPECT_EQ(without_parameters("(anonymous namespace)::f"), "(anonymous namespace)::f");
  EXPECT_EQ(without_parameters("A::operator()(int)"), "A::operator()");
  EXPECT_EQ(without_parameters("operator()"), "operator()");
  EXPECT_EQ(without_parameters("main()::{lambda(int)#1}::operator()(int) const"),
            "main()::{lambda(int)#1}::operator()");
  EXPECT_EQ(without_parameters("f())"), "f())");
  EXPECT_EQ(without_parameters(")("), ")(");
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
