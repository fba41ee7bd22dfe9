#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "cli/export/formats/export.h"
#include "tests/golden/golden_recording.h"
#include "tests/golden/output_file.h"

namespace swipr::exporters {
namespace {

using profile::Weight;

std::string exported(const golden::Golden& input, const Options& options = {}) {
  golden::OutputFile file;
  Sink sink(file.fd(), "output");
  EXPECT_TRUE(write_collapsed(input.recording, input.names, options, sink).has_value());
  return file.content();
}

TEST(Collapsed, AddsUpToTheWeightOfAllSamples) {
  const golden::Golden input = golden::make_golden();
  for (const Weight weight :
       {Weight::kSamples, Weight::kCpu, Weight::kWall, Weight::kBlocked, Weight::kRunqueue}) {
    std::uint64_t expected = 0;
    for (const profile::Sample& sample : input.recording.samples) {
      expected += weight_of(sample, weight);
    }
    std::uint64_t sum = 0;
    std::istringstream lines(exported(input, {weight}));
    for (std::string line; std::getline(lines, line);) {
      sum += std::stoull(line.substr(line.rfind(' ') + 1));
    }
    EXPECT_EQ(sum, expected);
    EXPECT_NE(sum, 0u);
  }
}

TEST(Collapsed, MergesThreadsOfOneName) {
  golden::Golden input = golden::make_golden();
  for (profile::Thread& thread : input.recording.threads) thread.name = "pool;a\nb";
  const std::string text = exported(input);
  EXPECT_NE(text.find("pool:a b;_start;main;Handle<Job>::operator->() const;__poll 55\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace swipr::exporters
