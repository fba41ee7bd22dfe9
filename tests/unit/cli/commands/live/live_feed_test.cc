#include "cli/commands/live/live_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace swipr::commands {
namespace {

using live::History;
using live::HistoryRow;
using nlohmann::json;
using testing::IsEmpty;

class LiveFeedTest : public testing::Test {
 protected:
  // Adds a row of a new node, and commits it.
  void go_on(std::uint32_t second) {
    HistoryRow row;
    row.second = second;
    row.thread = history_.thread(Pid{1}, Tid{4711}, "wor\"ker");
    const std::uint32_t function = history_.function({.name = "f<" + std::to_string(second)});
    row.node = history_.child(profile::kNone, function);
    row.ticks = 1;
    row.cpu_us = 10'000;
    history_.add(row);
    commit(second);
  }
  void commit(std::uint64_t second) {
    history_.commit((second + 1) * 1'000'000'000);
    ++state_.version;
  }

  History history_;
  LiveState state_{.title = "app 4711", .interval = std::chrono::milliseconds(10)};
};

TEST_F(LiveFeedTest, TellsEverythingOnce) {
  LiveFeed feed(history_, state_);
  EXPECT_THAT(feed.next(), IsEmpty());
  go_on(0);
  const json first = json::parse(feed.next());
  EXPECT_EQ(first["title"], "app 4711");
  EXPECT_EQ(first["deadlocks"], json::array());
  EXPECT_EQ(first["begins"], true);
  EXPECT_EQ(first["functions"][0][0], "f<0");
  EXPECT_EQ(first["threads"], json::parse(R"([[0,4711,"wor\"ker"]])"));
  EXPECT_EQ(first["nodes"], json::parse("[-1,0]"));
  EXPECT_EQ(first["rows"], json::parse("[0,0,0,0,3,-1,-1,1,10000,0,0]"));
  EXPECT_THAT(feed.next(), IsEmpty());
  go_on(1);
  const json second = json::parse(feed.next());
  EXPECT_EQ(second["begins"], false);
  EXPECT_EQ(second["functions"].size(), 1u);
  EXPECT_FALSE(second.contains("threads"));
  EXPECT_EQ(second["rows"].size(), 11u);
  EXPECT_EQ(second["behind"], false);
  state_.deadlocks = R"([{"text":"a waits for b","waited_ns":7}])";
  go_on(2);
  EXPECT_EQ(json::parse(feed.next())["deadlocks"][0]["waited_ns"], 7);
}

TEST_F(LiveFeedTest, TellsTheCallsOfRows) {
  LiveFeed feed(history_, state_);
  go_on(0);
  EXPECT_FALSE(json::parse(feed.next()).contains("call_sets"));
  const std::uint32_t one = history_.call_set({{0, 812, false}});
  const std::uint32_t nested = history_.call_set({{1, 700, true}, {0, 812, false}});
  for (const std::uint32_t calls : {one, nested}) {
    history_.add({.second = 1, .thread = 0, .node = 0, .calls = calls, .ticks = 1});
    commit(1);
  }
  const json event = json::parse(feed.next());
  EXPECT_EQ(event["call_sets"], json::parse("[[0,812,0],[1,700,1,0,812,0]]"));
  EXPECT_EQ(event["rows"][6], 0);
  EXPECT_EQ(event["rows"][11 + 6], 1);
}

TEST_F(LiveFeedTest, TellsTheTimeIfNothingElseIsNew) {
  LiveFeed feed(history_, state_);
  go_on(0);
  feed.next();
  commit(1);
  const json event = json::parse(feed.next());
  EXPECT_EQ(event["now_ns"], 2'000'000'000);
  EXPECT_EQ(event["rows"].size(), 0u);
}

// A stopped page costs nothing: what it has missed is told in parts that are bounded.
TEST_F(LiveFeedTest, DividesWhatASlowPageHasMissed) {
  LiveFeed feed(history_, state_);
  go_on(0);
  feed.next();
  constexpr std::uint32_t kRows = 100'000;
  for (std::uint32_t row = 1; row <= kRows; ++row) {
    history_.add({.second = 1, .thread = 0, .node = row % 10'000, .ticks = 1});
    if (row % 10'000 == 0) commit(1);
  }
  std::size_t rows = 0;
  std::size_t events = 0;
  for (std::string text = feed.next(); !text.empty(); text = feed.next()) {
    EXPECT_LT(text.size(), 5u << 20);
    const json event = json::parse(text);
    rows += event["rows"].size() / 11;
    ++events;
    EXPECT_EQ(event["behind"], rows < kRows);
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_EQ(events, 3u);
}

TEST_F(LiveFeedTest, BeginsAnewIfRowsHaveBeenForgotten) {
  LiveFeed feed(history_, state_);
  go_on(0);
  feed.next();
  go_on(1);
  for (std::uint32_t second = 2; second < History::kSeconds + 50; ++second) go_on(second);
  const json event = json::parse(feed.next());
  EXPECT_EQ(event["begins"], true);
  std::vector<int> seconds;
  for (std::size_t at = 0; at < event["rows"].size(); at += 11)
    seconds.push_back(event["rows"][at]);
  EXPECT_EQ(std::count(seconds.begin(), seconds.end(), -1), 50);
  EXPECT_EQ(seconds.size(), History::kSeconds + 50);
}

TEST_F(LiveFeedTest, TellsLongTablesBeforeRows) {
  LiveFeed feed(history_, state_);
  for (std::uint32_t index = 0; index < 2'000; ++index) {
    history_.function({.name = std::string(5'000, 'x') + std::to_string(index)});
  }
  go_on(0);
  const json first = json::parse(feed.next());
  EXPECT_EQ(first["behind"], true);
  EXPECT_FALSE(first.contains("rows"));
  std::size_t functions = first["functions"].size();
  json last;
  for (std::string text = feed.next(); !text.empty(); text = feed.next()) {
    last = json::parse(text);
    if (last.contains("functions")) functions += last["functions"].size();
  }
  EXPECT_EQ(functions, history_.functions().size());
  EXPECT_EQ(last["rows"].size(), 11u);
}

TEST_F(LiveFeedTest, TellsCallsOfTracedFunctions) {
  live::CallHistory calls({{"f\"<int>", false, ""}});
  state_.calls = &calls;
  LiveFeed feed(history_, state_);
  go_on(0);
  const json first = json::parse(feed.next());
  EXPECT_EQ(first["calls"], json::parse(R"([["f\"<int>",0,""]])"));
  EXPECT_EQ(first["call_rows"].size(), 0u);
  calls.set_traced(0, true, "");
  calls.add({0, 0, live::kTracedTime, 1'000'000'000});
  calls.add({0, 0, 70, 12});
  commit(1);
  const json second = json::parse(feed.next());
  EXPECT_EQ(second["calls"][0][1], 1);
  EXPECT_EQ(second["calls_begin"], false);
  EXPECT_EQ(second["call_rows"], json::parse("[0,0,1920,1000000000, 0,0,70,12]"));
  commit(2);
  const json third = json::parse(feed.next());
  EXPECT_FALSE(third.contains("calls"));
  EXPECT_EQ(third["call_rows"].size(), 0u);
}

TEST_F(LiveFeedTest, BoundsTheCallsOfAnEvent) {
  live::CallHistory calls({{"f", true, ""}});
  state_.calls = &calls;
  LiveFeed feed(history_, state_);
  go_on(0);
  for (std::uint32_t row = 0; row < live::CallHistory::kMaxRows + 5; ++row) calls.add({0, 0, 1, 1});
  std::size_t rows = 0;
  bool begins = false;
  for (std::string text = feed.next(); !text.empty(); text = feed.next()) {
    EXPECT_LT(text.size(), 5u << 20);
    const json event = json::parse(text);
    begins |= event["calls_begin"].get<bool>();
    rows += event["call_rows"].size() / 4;
    EXPECT_EQ(event["behind"], rows < live::CallHistory::kMaxRows);
  }
  EXPECT_TRUE(begins);  // the oldest five are forgotten
  EXPECT_EQ(rows, live::CallHistory::kMaxRows);
}

}  // namespace
}  // namespace swipr::commands
