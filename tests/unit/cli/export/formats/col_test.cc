#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/export/formats/col_header.h"
#include "cli/export/formats/export.h"
#include "tests/golden/golden_recording.h"
#include "tests/golden/output_file.h"

namespace swipr::exporters {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> col_lines(const golden::Golden& input, const Options& options = {}) {
  golden::OutputFile file;
  Sink sink(file.fd(), "output");
  EXPECT_TRUE(write_col(input.recording, input.names, options, sink).has_value());
  std::vector<std::string> lines;
  std::istringstream text(file.content());
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::uint64_t sum_of(const std::vector<std::string>& lines) {
  std::uint64_t sum = 0;
  for (const std::string& line : lines) sum += std::stoull(line.substr(line.rfind(' ')));
  return sum;
}

TEST(Col, HasAHeaderWithAllMetadata) {
  Options options;
  options.host.hostname = "machine";
  const std::string header = col_lines(golden::make_golden(), options).front();
  ASSERT_THAT(header, StartsWith("# {"));
  const auto json = nlohmann::json::parse(header.substr(2));
  EXPECT_EQ(json["metadata"].size(), 23u);
  for (const auto& field : json["metadata"]) EXPECT_FALSE(field.is_null());
  EXPECT_EQ(json["metadata"]["hostname"], "machine");
  EXPECT_EQ(json["metadata"]["spawn_time"], "2023-11-14T22:13:20");
  EXPECT_EQ(json["metadata"]["spawn_uptime_ms"], 500);
  EXPECT_TRUE(json["application_metadata"][0].is_null());
  EXPECT_EQ(json["application_metadata"][1]["exe"], "/opt/golden/bin/golden");
  EXPECT_EQ(json["profiling_mode"], "cpu");
}

TEST(Col, AddsMetadataThatIsGiven) {
  Options options;
  options.metadata = *static_metadata(R"({"static":{"team":"pay","hostname":"other"}})");
  options.host.hostname = "machine";
  const std::string header = col_lines(golden::make_golden(), options).front();
  const auto metadata = nlohmann::json::parse(header.substr(2))["metadata"];
  EXPECT_EQ(metadata["team"], "pay");
  EXPECT_EQ(metadata["hostname"], "machine");
  for (const char* text : {"", "[]", "{}", R"({"static":1})"}) EXPECT_FALSE(static_metadata(text));
}

TEST(Col, HasModulesOfNativeFunctionsOnly) {
  const golden::Golden input = golden::make_mixed_golden();
  const std::vector<std::string> lines = col_lines(input, {.module_names = true});
  EXPECT_THAT(lines,
              Contains(HasSubstr(";main (/opt/golden/bin/golden)_[pn];<module> (app.py)_[p];")));
}

TEST(Col, LinesNameTheApplicationAndCountSamples) {
  golden::Golden input = golden::make_mixed_golden();
  std::vector<std::string> lines = col_lines(input, {.weight = profile::Weight::kSamples});
  lines.erase(lines.begin());
  EXPECT_THAT(lines, Each(StartsWith("1;;golden;appid: native: golden (/opt/golden/bin/golden);")));
  EXPECT_THAT(lines, Contains(HasSubstr(";_start_[pn];main_[pn];<module> (app.py)_[p];")));
  EXPECT_THAT(lines, Contains(HasSubstr("two:parts")));
  std::uint64_t samples = 0;
  for (const profile::Sample& sample : input.recording.samples) samples += sample.ticks;
  EXPECT_EQ(sum_of(lines), samples);
}

TEST(Col, CountsOfAnApplicationSumUpToItsCpuTime) {
  golden::Golden input = golden::make_golden();  // ticks every 10 ms
  const std::vector<std::uint64_t> parts_ns = {24'000'000, 6'000'000, 2'000'000};
  auto& samples = input.recording.samples;
  const std::vector<std::uint32_t> stacks = {0, 1, 2};
  samples.resize(3);
  for (std::size_t index = 0; index < 3; ++index) {
    samples[index].thread = 0;
    samples[index].stack = stacks[index];
    samples[index].cpu = std::chrono::nanoseconds(parts_ns[index]);
  }
  std::vector<std::string> lines = col_lines(input);
  lines.erase(lines.begin());
  EXPECT_EQ(sum_of(lines), 3u);  // 32 ms; rounded one by one it would be 2
  EXPECT_EQ(lines.size(), 2u);   // none with 0
}

TEST(Col, CountsSamplesOfAGivenInterval) {
  golden::Golden input = golden::make_golden();  // ticks every 10 ms
  auto& samples = input.recording.samples;
  samples.resize(1);
  samples[0].cpu = std::chrono::milliseconds(24);
  const Options options{.col_interval = std::chrono::milliseconds(1)};
  EXPECT_EQ(sum_of(col_lines(input)), 2u);
  EXPECT_EQ(sum_of(col_lines(input, options)), 24u);
  input.recording.processes[0].interval = std::chrono::nanoseconds(0);
  EXPECT_EQ(sum_of(col_lines(input, options)), 24u);
}

TEST(Col, FramesAreNeverEmptyNorEndInABlank) {
  golden::Golden input = golden::make_golden();
  const std::string blank = " spaced ";
  input.names.frames[0][0].function = blank;
  input.names.frames[1][0].function = " ";
  for (const std::string& line : col_lines(input)) {
    if (line.starts_with('#')) continue;
    EXPECT_EQ(line.find("; "), std::string::npos) << line;
    EXPECT_EQ(line.find(" ;"), std::string::npos) << line;
    EXPECT_EQ(line.find(";;", 3), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace swipr::exporters
