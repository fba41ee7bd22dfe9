#include "cli/trace/latency_text.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/cli/trace/calls.h"

namespace swipr::tracing {
namespace {

using namespace std::chrono_literals;

Durations two_ways() {
  std::vector<std::uint64_t> values;
  std::mt19937_64 random(4);
  std::normal_distribution<double> fast(800'000, 40'000), slow(4'100'000, 300'000);
  for (int call = 0; call < 9300; ++call)
    values.push_back(static_cast<std::uint64_t>(fast(random)));
  for (int call = 0; call < 700; ++call) values.push_back(static_cast<std::uint64_t>(slow(random)));
  return calls_of(values);
}

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) {
    std::size_t columns = 0;
    for (const char byte : line) columns += (byte & 0xc0) != 0x80 ? 1 : 0;
    most = std::max(most, columns);
  }
  return most;
}

TEST(LatencyText, NamesTheWays) {
  EXPECT_EQ(describe_modes(two_ways()).substr(0, 10), "two ways: ");
  EXPECT_NE(describe_modes(two_ways()).find("(93 %)"), std::string::npos);
  EXPECT_NE(describe_modes(two_ways()).find("(7 %)"), std::string::npos);
  EXPECT_EQ(describe_modes(calls_of({1000, 1001})), "");
  EXPECT_EQ(describe_modes({}), "");
}

TEST(LatencyText, FitsTheTerminal) {
  std::vector<FunctionLatency> functions;
  for (const char* name :
       {"a", "shop::buy(std::vector<int, std::allocator<int> > const&)", "c", "d", "e"}) {
    functions.push_back({name, "shop", two_ways(), 10s, 0, ""});
    for (const std::size_t columns : {std::size_t{80}, std::size_t{120}, std::size_t{200}}) {
      for (const bool has_utf8 : {true, false}) {
        const Page page{columns, has_utf8};
        // Lines of text may be longer; the terminal wraps them.
        const std::string summary = format_summary(functions, page);
        EXPECT_LE(widest(summary.substr(summary.find("\n\n"))), columns);
        EXPECT_LE(widest(format_table_header(page)), columns);
        EXPECT_LE(widest(format_table_rows("12:00:01", functions, page)), columns);
      }
    }
  }
}

TEST(LatencyText, HasUnitsEverywhere) {
  const std::vector<FunctionLatency> one = {{"buy", "shop", two_ways(), 10s, 0, ""}};
  const std::string row = format_table_rows("12:00:01", one, {80, true});
  EXPECT_TRUE(row.starts_with("12:00:01 buy")) << row;
  EXPECT_NE(row.find(" 1,000 "), std::string::npos) << row;
  EXPECT_NE(row.find(" us"), std::string::npos) << row;
  EXPECT_NE(row.find(" ms"), std::string::npos) << row;
}

TEST(LatencyText, SaysWhatDidNotGoAsUsual) {
  Durations durations = calls_of({1000, 2000});
  durations.add_totals({0ns, 0ns, 1, 7});
  const std::vector<FunctionLatency> one = {
      {"buy\x1b[2J", "shop", durations, 2s, 3, "it took 5 % of a CPU"}};
  const std::string text = format_summary(one, {80, true});
  EXPECT_NE(text.find("2 calls in 2 s"), std::string::npos) << text;
  EXPECT_NE(text.find("1 ended by an exception"), std::string::npos) << text;
  EXPECT_NE(text.find("7 more not measured"), std::string::npos) << text;
  EXPECT_NE(text.find("3 not returned yet"), std::string::npos) << text;
  EXPECT_NE(text.find("no longer traced: it took 5 % of a CPU"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(LatencyText, FunctionsOfOneRangeAreBesideEachOther) {
  const auto rows_with = [](const Durations& left, const Durations& right, std::string_view word) {
    const std::vector<FunctionLatency> both = {{"left", "a", left, 1s, 0, ""},
                                               {"right", "a", right, 1s, 0, ""}};
    const std::string text = format_summary(both, {80, true});
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
    return count;
  };
  const Durations fast = calls_of({100, 110, 120, 130});
  EXPECT_EQ(rows_with(fast, calls_of({200, 220, 240}), "FROM"), 1u);
  EXPECT_EQ(rows_with(fast, calls_of({20'000'000, 22'000'000, 24'000'000}), "FROM"), 2u);
}

TEST(LatencyText, OfNoCallsHasNoTable) {
  const std::vector<FunctionLatency> one = {{"buy", "shop", {}, 2s, 0, ""}};
  EXPECT_EQ(format_summary(one, {80, true}), "buy (shop): 0 calls in 2 s\n");
  EXPECT_NE(format_table_rows("12:00:01", one, {80, true}).find(" 0 "), std::string::npos);
}

TEST(LatencyText, HasOnlyAsciiWithoutUtf8) {
  const std::vector<FunctionLatency> one = {{"buy", "shop", two_ways(), 2s, 0, ""}};
  for (const char byte : format_summary(one, {80, false})) EXPECT_GE(byte, 0);
}

}  // namespace
}  // namespace swipr::tracing
