// The exporters' output for the golden recording, byte for byte. SWIPR_UPDATE_GOLDEN=1 in the
// environment writes the files anew: read the difference before you commit it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "cli/export/formats/export.h"
#include "tests/golden/golden_recording.h"
#include "tests/golden/output_file.h"
#include "tests/golden/pprof_text.h"

namespace swipr {
namespace {

using exporters::Options;
using exporters::StateFrames;
using profile::Weight;
using Writer = decltype(exporters::write_perf);

std::string exported(Writer* writer, const Options& options,
                     const golden::Golden& input = golden::make_mixed_golden()) {
  golden::OutputFile file;
  exporters::Sink sink(file.fd(), "output");
  const auto result = writer(input.recording, input.names, options, sink);
  EXPECT_TRUE(result.has_value());
  return file.content();
}

// What the page's scripts read, without the page around it.
std::string exported_page_data(const Options& options) {
  const std::string page = exported(exporters::write_html, options);
  const std::string before = "<script id=\"profile\" type=\"application/json\">";
  const std::size_t begin = page.find(before) + before.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

std::string exported_pprof(const Options& options) {
  return golden::pprof_text(golden::gunzip(exported(exporters::write_pprof, options)));
}

void expect_golden(const std::string& actual, const std::string& name) {
  const std::string path = std::string(SWIPR_GOLDEN_FOLDER) + "/" + name;
  if (std::getenv("SWIPR_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual;
    FAIL() << path << " was written anew";
  }
  std::ifstream file(path, std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(expected.empty()) << path;
  EXPECT_EQ(actual, expected);
}

TEST(PerfGolden, MatchesInSamples) {
  expect_golden(exported(exporters::write_perf, {}), "samples.perf");
}

TEST(PerfGolden, MatchesInCpuTimeWithSourceLines) {
  expect_golden(exported(exporters::write_perf, {.weight = Weight::kCpu, .source_lines = true}),
                "cpu_lines.perf");
}

TEST(PprofGolden, MatchesInSamples) {
  expect_golden(exported_pprof({Weight::kSamples}), "samples.pprof.txt");
}

TEST(PprofGolden, ShowsCpuTimeUnlessToldOtherwise) {
  expect_golden(exported_pprof({}), "cpu.pprof.txt");
  expect_golden(exported_pprof({Weight::kCpu}), "cpu.pprof.txt");
}

TEST(CollapsedGolden, MatchesInSamples) {
  expect_golden(exported(exporters::write_collapsed, {}), "samples.collapsed");
}

TEST(CollapsedGolden, MatchesInBlockedTimeWithStates) {
  expect_golden(exported(exporters::write_collapsed, {Weight::kBlocked, StateFrames::kYes}),
                "blocked_states.collapsed");
}

std::string exported_comparison(Writer* writer) {
  const golden::Golden input = golden::make_comparison();
  Options options{Weight::kSamples};
  options.first_base_process = golden::kFirstBaseProcess;
  return exported(writer, options, input);
}

TEST(CollapsedGolden, MatchesComparedWithABase) {
  expect_golden(exported_comparison(exporters::write_collapsed), "difference.collapsed");
}

TEST(PprofGolden, MatchesComparedWithABase) {
  expect_golden(golden::pprof_text(golden::gunzip(exported_comparison(exporters::write_pprof))),
                "difference.pprof.txt");
}

TEST(SpeedscopeGolden, MatchesInWallTime) {
  expect_golden(exported(exporters::write_speedscope, {}), "wall.speedscope.json");
}

TEST(SpeedscopeGolden, MatchesInSamplesWithoutStates) {
  expect_golden(exported(exporters::write_speedscope, {Weight::kSamples, StateFrames::kNo}),
                "samples.speedscope.json");
}

TEST(FirefoxGolden, Matches) {
  expect_golden(golden::gunzip(exported(exporters::write_firefox, {})), "samples.firefox.json");
}

TEST(HtmlGolden, MatchesInItsData) {
  expect_golden(exported_page_data({Weight::kCpu}), "cpu.page.json");
}

}  // namespace
}  // namespace swipr
