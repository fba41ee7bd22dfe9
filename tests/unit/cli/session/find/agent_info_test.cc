#include "cli/session/find/agent_info.h"

#include <gtest/gtest.h>

namespace swipr::session {
namespace {

TEST(ParseAgentInfo, ReadsTheFields) {
  const auto info = parse_agent_info(
      R"({"version":"0.1.0","pid":7,"command":"app","threads":3,"start_time_ns":5,"recordings":2,"memory":"enough","new":[]})");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->version, "0.1.0");
  EXPECT_EQ(info->recordings, 2u);
  EXPECT_EQ(info->memory, "enough");
  EXPECT_EQ(info->pid, 7);
  EXPECT_EQ(info->command, "app");
  EXPECT_EQ(info->threads, 3u);
  EXPECT_EQ(info->start_time_ns, 5);
}

TEST(ParseAgentInfo, KeepsDefaultsForWrongTypes) {
  const auto info = parse_agent_info(R"({"pid":-7,"threads":1e300,"command":null})");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->pid, 0);
  EXPECT_EQ(info->threads, 0u);
  EXPECT_EQ(info->command, "");
}

TEST(ParseAgentInfo, ReadsTheRuntimes) {
  const auto info = parse_agent_info(
      R"({"runtimes":[{"language":"python","version":"3.7","refusal":"old"},7,{"language":"x"}]})");
  ASSERT_TRUE(info);
  ASSERT_EQ(info->runtimes.size(), 2u);
  EXPECT_EQ(info->runtimes[0].version, "3.7");
  EXPECT_EQ(info->runtimes[0].refusal, "old");
  EXPECT_EQ(info->runtimes[1].language, "x");
  EXPECT_EQ(info->runtimes[1].refusal, "");
}

TEST(ParseAgentInfo, RefusesWhatIsNoObject) {
  for (const char* text : {"", "[]", "7", "{", "{\"a\":}", "\xff"}) {
    EXPECT_FALSE(parse_agent_info(text)) << text;
  }
}

}  // namespace
}  // namespace swipr::session
