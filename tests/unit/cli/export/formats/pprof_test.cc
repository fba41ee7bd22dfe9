#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cli/export/formats/export.h"
#include "tests/golden/golden_recording.h"
#include "tests/golden/output_file.h"
#include "tests/golden/pprof_text.h"

namespace swipr::exporters {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string exported(const profile::Recording& recording, const profile::Names& names,
                     const Options& options = {}) {
  golden::OutputFile file;
  Sink sink(file.fd(), "output");
  EXPECT_TRUE(write_pprof(recording, names, options, sink).has_value());
  return golden::pprof_text(golden::gunzip(file.content()));
}

// The ids of all entries of a table, in the order of the file.
std::vector<std::string> ids_of(const std::string& text, const std::string& table) {
  std::vector<std::string> ids;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(table + ' ')) continue;
    ids.push_back(line.substr(table.size() + 1, line.find(':') - table.size() - 1));
  }
  return ids;
}

std::vector<std::string> numbers_up_to(std::size_t last) {
  std::vector<std::string> numbers;
  for (std::size_t number = 1; number <= last; ++number) numbers.push_back(std::to_string(number));
  return numbers;
}

TEST(Pprof, NumbersTheEntriesOfEachTableInTheirOrder) {
  golden::Golden input = golden::make_comparison();  // two processes
  Options options;
  options.state_frames = StateFrames::kYes;
  const std::string text = exported(input.recording, input.names, options);
  for (const char* table : {"mapping", "location", "function"}) {
    const std::vector<std::string> ids = ids_of(text, table);
    EXPECT_GT(ids.size(), 1u) << table;
    EXPECT_EQ(ids, numbers_up_to(ids.size())) << table;
  }
}

TEST(Pprof, HasOnlyLocationsAndMappingsThatSamplesUse) {
  golden::Golden input = golden::make_golden();
  std::erase_if(input.recording.samples, [](const auto& sample) { return sample.stack != 0; });
  const std::string text = exported(input.recording, input.names);
  EXPECT_EQ(ids_of(text, "location"), numbers_up_to(3));
  EXPECT_EQ(ids_of(text, "mapping"), numbers_up_to(1));
  EXPECT_THAT(text, Not(HasSubstr("libc.so.6")));
}

TEST(Pprof, HasNoLocationWithoutAFunction) {
  const golden::Golden input = golden::make_mixed_golden();
  EXPECT_THAT(exported(input.recording, input.names),
              Not(ContainsRegex("location [0-9]+: mapping=[0-9]+ address=[0-9a-f]+\n")));
}

TEST(Pprof, AlwaysHasAPeriodAndADuration) {
  golden::Golden input = golden::make_golden();
  input.recording.processes[0].interval = {};
  input.recording.processes[0].duration = {};
  for (const auto& text : {exported(input.recording, input.names), exported({}, {})}) {
    EXPECT_THAT(text, HasSubstr("\nduration_nanos 1\nperiod 1\n"));
    EXPECT_THAT(text, HasSubstr("period_type cpu/nanoseconds\n"));
  }
}

TEST(Pprof, MergesThreadsAndStatesWithoutLabels) {
  const golden::Golden input = golden::make_golden();
  Options options;
  options.pprof_labels = PprofLabels::kNone;
  const std::string text = exported(input.recording, input.names, options);
  EXPECT_THAT(text, ContainsRegex("sample locations [ 0-9]+ values [ 0-9]+ labels\n"));
  EXPECT_THAT(text, Not(HasSubstr("='pool")));
  EXPECT_THAT(text, Not(HasSubstr("state=")));
  EXPECT_THAT(text, HasSubstr("values 55 550000000 "));  // waits of two threads in one stack
  options.pprof_labels = PprofLabels::kThread;
  const std::string by_thread = exported(input.recording, input.names, options);
  EXPECT_THAT(by_thread, HasSubstr("labels thread='pool 3/4 #1'\n"));
  EXPECT_THAT(by_thread, Not(HasSubstr("tid=")));
}

Options for_a_store() {
  Options options;
  options.weight = profile::Weight::kCpu;
  options.pprof_labels = PprofLabels::kNone;
  options.pprof_types = {profile::Weight::kCpu, profile::Weight::kSamples};
  return options;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(PprofPieces, HaveOnlyTheTypesAndSamplesThatWereAskedFor) {
  const golden::Golden input = golden::make_golden();
  const auto pieces = make_pprof_pieces(input.recording, input.names, for_a_store(), {});
  ASSERT_EQ(pieces.size(), 1u);
  const std::string text = golden::pprof_text(pieces[0]);
  EXPECT_THAT(text, HasSubstr("sample_type samples/count\nsample_type cpu/nanoseconds\nsample "));
  Options wall = for_a_store();
  wall.weight = profile::Weight::kRunqueue;
  wall.pprof_types = {profile::Weight::kRunqueue};
  const auto waits = make_pprof_pieces(input.recording, input.names, wall, {});
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_THAT(golden::pprof_text(waits[0]), Not(HasSubstr(" values 0 ")));
  EXPECT_THAT(golden::pprof_text(waits[0]), HasSubstr("period_type runqueue/nanoseconds\n"));
  EXPECT_TRUE(make_pprof_pieces({}, {}, for_a_store(), {}).empty());
}

TEST(PprofPieces, StayWithinTheLimitsAndLoseNothing) {
  const golden::Golden input = golden::make_golden();
  const Options options = for_a_store();
  const auto whole = make_pprof_pieces(input.recording, input.names, options, {});
  const std::size_t samples = count_of(golden::pprof_text(whole[0]), "\nsample locations");
  ASSERT_GT(samples, 2u);
  for (const PprofLimits limits : {PprofLimits{1, 1u << 20}, PprofLimits{16'000, 1}}) {
    const auto pieces = make_pprof_pieces(input.recording, input.names, options, limits);
    EXPECT_EQ(pieces.size(), samples);
    for (const std::string& piece : pieces) {
      EXPECT_EQ(count_of(golden::pprof_text(piece), "\nsample locations"), 1u);
    }
  }
}

TEST(Pprof, CutsLongStacksInTheMiddle) {
  golden::Golden input = golden::make_golden();
  input.recording.stacks[0].frames = {0, 1, 2, 3, 4, 5, 0, 1};
  std::erase_if(input.recording.samples, [](const auto& sample) { return sample.stack != 0; });
  Options options;
  options.pprof_max_frames = 5;
  const std::string text = exported(input.recording, input.names, options);
  EXPECT_THAT(text, HasSubstr("sample locations 1 2 3 1 2 values"));
  EXPECT_THAT(text, HasSubstr("'[frames omitted]'"));
  options.pprof_max_frames = 8;
  EXPECT_THAT(exported(input.recording, input.names, options),
              Not(HasSubstr("'[frames omitted]'")));
}

TEST(Pprof, IsTheSameFileEveryTime) {
  const golden::Golden input = golden::make_golden();
  EXPECT_EQ(exported(input.recording, input.names), exported(input.recording, input.names));
}

TEST(Pprof, LeavesOutTimesThatAreZeroEverywhere) {
  golden::Golden input = golden::make_golden();
  for (profile::Sample& sample : input.recording.samples) {
    sample.runqueue = {};
    sample.cpu = sample.wall;
  }
  const std::string text = exported(input.recording, input.names, {profile::Weight::kSamples});
  EXPECT_THAT(text, HasSubstr("sample_type cpu/nanoseconds\nsample_type wall/nanoseconds\n"
                              "sample_type samples/count\nsample locations"));
  EXPECT_THAT(exported(input.recording, input.names, {profile::Weight::kBlocked}),
              HasSubstr("sample_type blocked/nanoseconds\nsample locations"));
}

TEST(Pprof, ShowsStatesAsInnermostFramesWhenAsked) {
  const golden::Golden input = golden::make_golden();
  EXPECT_THAT(exported(input.recording, input.names), Not(HasSubstr("[poll]")));
  Options options;
  options.state_frames = StateFrames::kYes;
  const std::string text = exported(input.recording, input.names, options);
  EXPECT_THAT(text, HasSubstr("[poll]"));
  EXPECT_THAT(text, HasSubstr("[runnable]"));
}

TEST(Pprof, TellsProcessesApart) {
  golden::Golden input = golden::make_golden();
  EXPECT_THAT(exported(input.recording, input.names), Not(HasSubstr(" pid=")));
  profile::Process child = input.recording.processes[0];
  child.pid = Pid{200};
  child.totals = {{"ticks", 2}, {"samples_dropped", 0}};
  input.recording.processes.push_back(child);
  input.recording.threads[1].process = 1;
  const std::string text = exported(input.recording, input.names);
  EXPECT_THAT(text, HasSubstr(" pid=100"));
  EXPECT_THAT(text,
              HasSubstr("thread='pool 3/4 #1' tid=101 state='blocked' syscall='poll' pid=200"));
  EXPECT_THAT(text, HasSubstr("comment 2 processes: samples 63, ticks 50, ticks_missed 2\n"));
}

TEST(Pprof, LabelsWhereInTheKernelAThreadWaits) {
  golden::Golden input = golden::make_golden();
  for (profile::Stack& stack : input.recording.stacks) {
    if (!stack.wait_syscall.empty()) stack.wait_channel = "do_poll";
  }
  EXPECT_THAT(exported(input.recording, input.names),
              HasSubstr("state='blocked' syscall='poll' wait_channel='do_poll'"));
}

TEST(Pprof, PutsTheProgramsMappingFirst) {
  const golden::Golden input = golden::make_golden();
  const std::string text = exported(input.recording, input.names);
  EXPECT_LT(text.find("'/opt/golden/bin/golden' build_id"), text.find("'/usr/lib/libc.so.6'"));
}

TEST(Pprof, HasFieldsForTheFileAndLinesOfALanguage) {
  const golden::Golden input = golden::make_mixed_golden();
  const std::string text = exported(input.recording, input.names);
  EXPECT_THAT(text, HasSubstr(": 'Worker.run' system_name='Worker.run' file='/src/golden/app.py' "
                              "start_line=28\n"));
  EXPECT_THAT(text, HasSubstr("'[function gone]' system_name='[function gone]' file=''"));
  EXPECT_THAT(text, Not(HasSubstr("(app.py)")));
  EXPECT_THAT(text, ContainsRegex("location [0-9]+: mapping=0 address=0 function=[0-9]+:31\n"));
}

TEST(Pprof, WritesAnEmptyRecording) {
  EXPECT_THAT(exported({}, {}), HasSubstr("default_sample_type cpu"));
}

TEST(Pprof, CompressesMoreThanOneBuffer) {
  golden::Golden input = golden::make_golden();
  for (int number = 0; number < 50'000; ++number) {
    input.recording.warnings.push_back("warning number " + std::to_string(number * 7919));
  }
  EXPECT_THAT(exported(input.recording, input.names), HasSubstr("warning number 395942081"));
}

}  // namespace
}  // namespace swipr::exporters
