#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "cli/options/agent_settings.h"
#include "tests/unit/cli/options/parsed.h"

namespace swipr::options {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

AgentOptions agent_options(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "agent");
  return parsed<AgentOptions>(std::move(arguments));
}

std::string agent_error(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "agent");
  return error_of(std::move(arguments));
}

TEST(ParseAgent, HasDefaults) {
  const auto options = agent_options({"-o", "out"});
  EXPECT_EQ(options.output_folder, "out");
  EXPECT_EQ(options.slice, 60s);
  EXPECT_EQ(options.slices, 0u);
  EXPECT_EQ(options.keep, 0u);
  EXPECT_TRUE(options.flamegraph);
}

TEST(ParseAgent, TakesOptionsOfGProfilersFiles) {
  const auto options =
      agent_options({"-o", "out", "--insert-dso-name", "--external-metadata", "m",
                     "--app-id-args-filter", "^-D", "--app-id-args-filter", "x",
                     "--disable-metrics-collection", "--disable-metadata-collection"});
  EXPECT_TRUE(options.module_names);
  EXPECT_EQ(options.external_metadata, "m");
  EXPECT_THAT(options.argument_filters, ElementsAre("^-D", "x"));
}

TEST(ParseAgent, TakesOptionsOfGProfiler) {
  const auto options = agent_options({"-c",
                                      "--profiling-frequency",
                                      "20",
                                      "--profiling-duration",
                                      "30",
                                      "--output-dir",
                                      "out",
                                      "--rotating-output",
                                      "--no-flamegraph",
                                      "-u",
                                      "--server-host",
                                      "https://studio",
                                      "--service-name",
                                      "shop",
                                      "--pids",
                                      "4,5",
                                      "--pid-file",
                                      "pid",
                                      "--log-file",
                                      "log",
                                      "--controller-pid",
                                      "7",
                                      "--disable-application-identifiers"});
  EXPECT_EQ(options.interval, 50ms);
  EXPECT_EQ(options.slice, 30s);
  EXPECT_EQ(options.keep, 1u);
  EXPECT_FALSE(options.flamegraph);
  EXPECT_THAT(options.push.urls, ElementsAre("gprofiler+https://studio"));
  EXPECT_THAT(options.pids, ElementsAre(Pid{4}, Pid{5}));
  EXPECT_EQ(options.controller, Pid{7});
  EXPECT_FALSE(options.identifies_applications);
}

TEST(ParseAgent, TakesSizes) {
  EXPECT_EQ(agent_options({"-o", "x", "--spool-size", "2MiB"}).spool_bytes, 2u << 20);
  EXPECT_EQ(agent_options({"-o", "x", "--spool-size", "5000000"}).spool_bytes, 5'000'000u);
  for (const char* wrong : {"", "MiB", "-1", "1MB", "0", "99999999999GiB"}) {
    EXPECT_NE(agent_error({"-o", "x", "--spool-size", wrong}), "no error") << wrong;
  }
}

TEST(ParseAgent, RefusesWhatCannotWork) {
  EXPECT_EQ(agent_error({}), "agent: --output-dir DIR or --push URL is required");
  EXPECT_NE(agent_error({"-o", "x", "--slice", "10ms"}), "no error");
  EXPECT_NE(agent_error({"-o", "x", "--label", "broken"}), "no error");
  EXPECT_NE(agent_error({"-u"}), "no error");
  EXPECT_NE(agent_error({"-o", "x", "--config", "/nowhere"}), "no error");
}

TEST(AgentSettings, AreLinesOfAFile) {
  const auto settings = parse_settings(
      "# a comment\n\nrate = 20\r\npush = \"parca+http://x\"\npush=pyroscope+http://y\n"
      "no-flamegraph = true\nrotating-output = false");
  ASSERT_TRUE(settings);
  EXPECT_THAT(*settings, ElementsAre("--rate=20", "--push=parca+http://x",
                                     "--push=pyroscope+http://y", "--no-flamegraph"));
  EXPECT_FALSE(parse_settings("rate"));
  EXPECT_FALSE(parse_settings(" = 1"));
  EXPECT_FALSE(parse_settings("--rate = 1"));
}

TEST(AgentSettings, AreVariables) {
  const char* const environment[] = {"SWIPR_AGENT_OUTPUT_DIR=/out", "SWIPR_AGENT_ONCE=true",
                                     "SWIPR_AGENT_RATE=", "SWIPR_LOG=stderr", nullptr};
  EXPECT_THAT(settings_of(environment), ElementsAre("--output-dir=/out", "--once"));
}

TEST(AgentSettings, AreOverriddenByName) {
  EXPECT_THAT(overridden_by({"--push=a", "--rate=1"}, {"--push", "b"}),
              ElementsAre("--rate=1", "--push", "b"));
}

}  // namespace
}  // namespace swipr::options
