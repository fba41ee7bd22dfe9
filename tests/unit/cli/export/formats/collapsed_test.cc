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

TEST(Collapsed, MarksFramesOfLanguagesWhenAsked) {
  const golden::Golden input = golden::make_mixed_golden();
  EXPECT_EQ(exported(input).find("_["), std::string::npos);
  const std::string text = exported(input, {.frame_kinds = true});
  EXPECT_NE(text.find(";_start_[pn];main_[pn];<module> (app.py)_[p];[function gone]_[p];"
                      "Worker.run (app.py)_[p];"
                      "(anonymous namespace)::burn(std::vector<int> const&)_[pn];"
                      "mix(unsigned int)_[pn] 1\n"),
            std::string::npos)
      << text;
  // A stack without Python has no marks.
  EXPECT_NE(text.find("golden;_start;main;(anonymous"), std::string::npos) << text;
}

TEST(Collapsed, HasAMarkForEachLanguage) {
  const struct {
    Language language;
    Execution execution;
    const char* mark;
  } cases[] = {{Language::kPython, Execution::kInterpreted, "_[p]"},
               {Language::kJava, Execution::kInterpreted, "_[0]"},
               {Language::kJava, Execution::kInlined, "_[i]"},
               {Language::kJava, Execution::kCompiled, "_[j]"},
               {Language::kJavaScript, Execution::kCompiled, "_[js]"},
               {Language::kRuby, Execution::kInterpreted, "_[rb]"},
               {Language::kPhp, Execution::kInterpreted, "_[php]"},
               {Language::kDotNet, Execution::kCompiled, "_[net]"},
               {static_cast<Language>(77), Execution::kInterpreted, ""}};
  for (const auto& expected : cases) {
    golden::Golden input = golden::make_mixed_golden();
    profile::NamedFrame& innermost =
        input.names.frames[input.recording.stacks[5].frames[0]].front();
    innermost.language = expected.language;
    innermost.execution = expected.execution;
    const std::string end = std::string("Worker.run (app.py)") + expected.mark + " 1\n";
    const std::string text = exported(input, {.frame_kinds = true});
    EXPECT_NE(text.find(end), std::string::npos) << end << text;
  }
}

}  // namespace
}  // namespace swipr::exporters
