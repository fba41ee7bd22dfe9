#include "preload/agent/serve/info_page.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <regex>
#include <string>

namespace swipr::agent {
namespace {

TEST(AgentInfoPage, HelpHasACommandForThisSocket) {
  Listener listener;
  listener.path.append("/run/x/1.sock");
  FixedText<8192> out;
  write_help(&listener, out);
  EXPECT_NE(out.view().find("curl --unix-socket /run/x/1.sock -sd "), std::string_view::npos);
  Listener tcp;
  tcp.is_tcp = true;
  tcp.url.append("http://127.0.0.1:7000");
  out.clear();
  write_help(&tcp, out);
  EXPECT_NE(out.view().find("'http://127.0.0.1:7000/sample'"), std::string_view::npos);
  EXPECT_FALSE(out.overflowed());
}

TEST(AgentInfoPage, InfoDescribesThisProcess) {
  Listener listener;
  listener.path.append("/run/\"x\".sock");
  RecorderCounters counters;
  counters.recordings_active = 1;
  counters.ticks = 77;
  FixedText<32768> out;
  std::array<FoundRuntime, 2> runtimes{};
  for (FoundRuntime& runtime : runtimes) runtime.language = Language::kPython;
  std::strcpy(runtimes[0].version, "3.11.2");
  TextWriter(runtimes[1].refusal).append("debug build");
  Settings settings;
  settings.service = "shop \"1\"";
  settings.labels = "team=a";
  settings.first_argument = "./shop";
  write_info_json(settings, listener, counters, runtimes, out);
  const std::string text(out.view());
  EXPECT_NE(text.find("\"pid\":" + std::to_string(::getpid()) + ","), std::string::npos);
  EXPECT_NE(text.find("\"ticks\":77,"), std::string::npos);
  EXPECT_NE(text.find("\"state\":\"recording\""), std::string::npos);
  EXPECT_NE(text.find("\\\"x\\\""), std::string::npos);
  EXPECT_NE(text.find("\"memory\":\"enough\""), std::string::npos);
  EXPECT_NE(text.find(R"("runtimes":[{"language":"python","version":"3.11.2"},)"
                      R"({"language":"python","version":"","refusal":"debug build"}]})"),
            std::string::npos);
  EXPECT_NE(text.find(R"("argv0":"./shop","service":"shop \"1\"","labels":"team=a",)"),
            std::string::npos);
  EXPECT_TRUE(std::regex_search(text, std::regex(R"("hostname":"[^"]+","cgroup":"[0-9]+:)")));
  EXPECT_TRUE(std::regex_search(text, std::regex(R"("pid_namespace":4[0-9]{9}[,}])")));
  EXPECT_FALSE(out.overflowed());
  EXPECT_TRUE(std::regex_search(text, std::regex("\"threads\":[1-9]")));
  EXPECT_TRUE(std::regex_search(text, std::regex("\"start_time_ns\":[1-9][0-9]{18}[,}]")));
}

TEST(AgentInfoPage, FileNameTellsProcessAndTime) {
  FixedText<128> out;
  write_file_name(AnswerFormat::kPprof, out);
  EXPECT_TRUE(std::regex_match(std::string(out.view()),
                               std::regex("samples-[0-9]+-2[0-9]{3}[01][0-9][0-3][0-9]"
                                          "T[0-2][0-9][0-5][0-9][0-6][0-9]Z\\.pb\\.gz")))
      << out.c_str();
}

}  // namespace
}  // namespace swipr::agent
