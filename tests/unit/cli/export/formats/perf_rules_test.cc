// The rules by which stackcollapse-perf.pl, speedscope and the Firefox Profiler parse perf script
// text, written from the input that they accept and applied to swipr's output: every reader must
// get the same thread, time, weight and frames.
#include <gtest/gtest.h>

#include <chrono>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "cli/export/formats/export.h"
#include "tests/golden/golden_recording.h"
#include "tests/golden/output_file.h"

namespace swipr::exporters {
namespace {

using namespace std::chrono_literals;

struct ReadSample {
  std::string event_line;
  std::vector<std::string> frame_lines;
};

std::vector<ReadSample> samples_of(const std::string& text) {
  std::vector<ReadSample> samples;
  std::istringstream lines(text);
  bool open = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      open = false;
    } else if (!open) {
      samples.push_back({line, {}});
      open = true;
    } else {
      samples.back().frame_lines.push_back(line);
    }
  }
  return samples;
}

std::string exported(const profile::Recording& recording, const profile::Names& names,
                     const Options& options = {}) {
  golden::OutputFile file;
  Sink sink(file.fd(), "output");
  EXPECT_TRUE(write_perf(recording, names, options, sink).has_value());
  return file.content();
}

// A recording of one thread and one frame with these names.
std::string exported_names(const std::string& thread, const std::string& function,
                           const std::string& module) {
  profile::Recording recording;
  recording.processes.resize(1);
  recording.processes[0].pid = Pid{77};
  recording.threads = {{0, Tid{78}, thread}};
  recording.modules.resize(1);
  recording.modules[0].path = module;
  recording.frames = {{0, 0, RuntimeAddr{0x1234}, PcKind::kExact}};
  recording.stacks = {{{0}, profile::kNone, "", true}};
  recording.samples.resize(1);
  recording.samples[0].time = 12s + 5ns;
  recording.samples[0].stack = 0;
  recording.samples[0].ticks = 3;
  profile::Names names;
  names.frames.resize(1);
  names.frames[0].resize(1);
  names.frames[0][0].function = function;
  names.frames[0][0].offset = 0x20;
  return exported(recording, names);
}

// stackcollapse-perf.pl and speedscope: the first blank, number, blank is the thread.
const std::regex kFirstIds(R"(^(\S.+?)\s+(\d+)(?:/(\d+))?\s+)");
// speedscope: the first decimal number before a colon is the time.
const std::regex kFirstTime(R"(\s+(\d+\.\d+):\s+)");
// stackcollapse-perf.pl: period and event at the end.
const std::regex kPeriod(R"(:\s*(\d+)\s+(\S+):\s*$)");
// Firefox: the last number before a colon is the time, the last ids before it the thread.
const std::regex kLastTime(R"(^(.*)\s+([\d.]+):)");
const std::regex kLastIds(R"(^(.*)\s+(?:(\d+)/)?(\d+)\b)");
// All: address, name, module. They differ in the characters that a module may contain.
const std::regex kFrame(R"(^\s*(\w+)\s*(.+) \((\S*)\))");
const std::regex kFirefoxFrame(R"(^\s*(\w+)\s*(.+) \(([^)]*)\))");
const std::regex kStackcollapseFrame(R"(^\s*(\w+)\s*(.+) \((.*)\))");

void expect_event_line(const std::string& line, const std::string& pid, const std::string& tid) {
  ASSERT_NE(line[0], '#') << line;
  ASSERT_NE(line[0], '{') << line;
  std::smatch ids, time, period, last_time, last_ids;
  ASSERT_TRUE(std::regex_search(line, ids, kFirstIds)) << line;
  EXPECT_EQ(ids[2], pid) << line;
  EXPECT_EQ(ids[3], tid) << line;
  ASSERT_TRUE(std::regex_search(line, time, kFirstTime)) << line;
  ASSERT_TRUE(std::regex_search(line, period, kPeriod)) << line;
  EXPECT_NE(period[1], "0") << line;
  EXPECT_EQ(period[2], "swipr") << line;
  ASSERT_TRUE(std::regex_search(line, last_time, kLastTime)) << line;
  EXPECT_EQ(last_time[2], time[1]) << line;
  const std::string before = last_time[1];
  ASSERT_TRUE(std::regex_search(before, last_ids, kLastIds)) << line;
  EXPECT_EQ(last_ids[2], pid) << line;
  EXPECT_EQ(last_ids[3], tid) << line;
  std::string name = last_ids[1];
  name.erase(name.find_last_not_of(' ') + 1);
  EXPECT_EQ(name, ids[1]) << line;
}

void expect_frame_line(const std::string& line) {
  std::smatch all, firefox, stackcollapse;
  ASSERT_TRUE(std::regex_search(line, all, kFrame)) << line;
  ASSERT_TRUE(std::regex_search(line, firefox, kFirefoxFrame)) << line;
  ASSERT_TRUE(std::regex_search(line, stackcollapse, kStackcollapseFrame)) << line;
  for (std::size_t part = 1; part <= 3; ++part) {
    EXPECT_EQ(all[part], firefox[part]) << line;
    EXPECT_EQ(all[part], stackcollapse[part]) << line;
  }
  EXPECT_NE(all[2].str()[0], '(') << line;
  EXPECT_EQ(all[2].str().find("->"), std::string::npos) << line;
  EXPECT_EQ(all.suffix().str(), "") << line;
}

TEST(PerfRules, HoldForTheGoldenRecording) {
  const golden::Golden input = golden::make_golden();
  const auto samples = samples_of(exported(input.recording, input.names));
  ASSERT_EQ(samples.size(), 10u);
  for (const ReadSample& sample : samples) {
    std::smatch ids;
    ASSERT_TRUE(std::regex_search(sample.event_line, ids, kFirstIds));
    expect_event_line(sample.event_line, "100", ids[3]);
    ASSERT_FALSE(sample.frame_lines.empty()) << sample.event_line;  // Firefox would discard it
    for (const std::string& line : sample.frame_lines) expect_frame_line(line);
  }
}

TEST(PerfRules, HoldForNamesThatLookLikeSomethingElse) {
  for (const char* thread :
       {"x", "", " ", "#1", "{json", "pool 3", "a 1 2", "t 5/6 7.5: 8 cycles:", "tab\there 9",
        "line\n\nbreak", "# ========", "caf\xc3\xa9 1", "\xff\xfe", "a: b:", "12 34"}) {
    const auto samples = samples_of(exported_names(thread, "f", "/m"));
    ASSERT_EQ(samples.size(), 1u) << thread;
    expect_event_line(samples[0].event_line, "77", "78");
    ASSERT_EQ(samples[0].frame_lines.size(), 1u) << thread;
  }
}

TEST(PerfRules, HoldForFunctionsAndModulesOfAllKinds) {
  for (const char* function :
       {"f", "(anonymous namespace)::f(int (*)(char))", "a::operator->() const", "f(int) (.cold)",
        "operator()(x) const [clone .isra.0]", "two\nlines", "a;b", "[lib+0x1]", "auto f() -> int",
        "f (inner) g"}) {
    for (const char* module :
         {"/lib/x.so", "", "/with blank/and (parens)/x.so", "/gone.so (deleted)", "[vdso]"}) {
      const auto samples = samples_of(exported_names("t", function, module));
      ASSERT_EQ(samples.size(), 1u) << function;
      ASSERT_EQ(samples[0].frame_lines.size(), 1u) << function;
      expect_frame_line(samples[0].frame_lines[0]);
    }
  }
}

TEST(PerfRules, KeepTheTimesOfAThreadInOrder) {
  profile::Recording recording;
  recording.processes.resize(1);
  recording.threads = {{0, Tid{1}, "a"}, {0, Tid{1}, "a"}};  // the same one for readers
  recording.samples.resize(2);
  recording.samples[0].time = 50ms;
  recording.samples[1].time = 60ms;
  recording.samples[1].thread = 1;
  recording.samples[1].ticks = 10;
  recording.samples[1].wall = 100ms;  // begins before the other one's
  double last = 0;
  for (const ReadSample& sample : samples_of(exported(recording, {}))) {
    std::smatch time;
    ASSERT_TRUE(std::regex_search(sample.event_line, time, kFirstTime));
    EXPECT_GE(std::stod(time[1]), last);
    last = std::stod(time[1]);
  }
  EXPECT_EQ(last, 0.06);
}

TEST(PerfRules, GiveEverySourceLineToItsFrame) {
  const golden::Golden input = golden::make_golden();
  Options options;
  options.source_lines = true;
  for (const ReadSample& sample : samples_of(exported(input.recording, input.names, options))) {
    ASSERT_EQ(sample.frame_lines.size() % 2, 0u);
    for (std::size_t index = 0; index < sample.frame_lines.size(); index += 2) {
      expect_frame_line(sample.frame_lines[index]);
      const std::string& source = sample.frame_lines[index + 1];
      EXPECT_FALSE(std::regex_search(source, kStackcollapseFrame)) << source;
    }
  }
}

}  // namespace
}  // namespace swipr::exporters
