#include "cli/export/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/golden/golden_recording.h"
#include "tests/golden/output_file.h"
#include "tests/golden/workers_recording.h"

namespace swipr::exporters {
namespace {

using testing::HasSubstr;
using testing::Not;

using Writer = host::Result<void> (*)(const profile::Recording&, const profile::Names&,
                                      const ReportOptions&, Sink&);

std::string written(Writer write, const golden::Golden& input, const ReportOptions& options = {}) {
  golden::OutputFile file;
  Sink sink(file.fd(), "output");
  EXPECT_TRUE(write(input.recording, input.names, options, sink).has_value());
  return file.content();
}

TEST(ReportText, ShowsCountersFunctionsAndThreads) {
  const golden::Golden input = golden::make_golden();
  const std::string text = written(write_report_text, input);
  const profile::Process& process = input.recording.processes.at(0);
  EXPECT_THAT(text, HasSubstr(process.command_name + " (pid 100)"));
  EXPECT_THAT(text, HasSubstr("function (by CPU time)"));
  EXPECT_THAT(text, HasSubstr("mix(unsigned int)"));
  for (const profile::Thread& thread : input.recording.threads) {
    EXPECT_THAT(text, HasSubstr("  " + std::to_string(thread.tid.value) + "  "));
  }
}

TEST(ReportText, NamesDeadlocksFirst) {
  const golden::Golden input = golden::make_deadlock();
  const std::string text = written(write_report_text, input);
  const std::string line =
      "deadlock: pool 211 waits for the mutex in want_log(), held by pool 212, which waits for the "
      "mutex in want_log(), held by pool 211 (for 1 s)\n";
  EXPECT_THAT(text, HasSubstr("\n" + line));
  EXPECT_LT(text.find(line), text.find("function (by"));
  ReportOptions narrow;
  narrow.columns = 80;
  EXPECT_THAT(written(write_report_text, input, narrow),
              HasSubstr("held by pool 212,\n  which waits for the mutex in want_log(), held by "
                        "pool 211 (for 1 s)\n"));
  EXPECT_THAT(written(write_report_text, golden::make_workers()), Not(HasSubstr("deadlock")));
}

TEST(ReportJson, HasTheThreadsOfDeadlocks) {
  const auto report = nlohmann::json::parse(written(write_report_json, golden::make_deadlock()));
  const auto& deadlock = report.at("deadlocks").at(0);
  EXPECT_EQ(deadlock.at("waited_ns"), 1'000'000'000);
  EXPECT_EQ(deadlock.at("waits").at(1),
            nlohmann::json(
                {{"tid", 212}, {"pid", 200}, {"name", "pool"}, {"lock", "mutex in want_log()"}}));
  EXPECT_FALSE(nlohmann::json::parse(written(write_report_json, golden::make_workers()))
                   .contains("deadlocks"));
}

TEST(ReportText, CountsTheSamplesOfAProcessThatLeftNoTotals) {
  golden::Golden input = golden::make_golden();
  std::uint64_t samples = 0;
  for (const profile::Sample& sample : input.recording.samples) samples += sample.ticks;
  for (profile::Process& process : input.recording.processes) process.totals.clear();
  const std::string text = written(write_report_text, input);
  EXPECT_THAT(text, HasSubstr("truncated before its first totals"));
  EXPECT_THAT(text, HasSubstr("samples " + std::to_string(samples) + ";"));
  EXPECT_THAT(text, Not(HasSubstr("0 of 0 ticks")));
}

TEST(ReportText, ShowsTheShareOfGarbageCollection) {
  golden::Golden input = golden::make_mixed_golden();
  EXPECT_THAT(written(write_report_text, input), Not(HasSubstr("garbage")));
  input.recording.functions.at(0).is_collector = true;
  std::uint64_t collecting = 0;
  std::uint64_t all = 0;
  for (const profile::Sample& sample : input.recording.samples) {
    const std::uint64_t weight = profile::weight_of(sample, profile::Weight::kSamples);
    all += weight;
    if (sample.stack == 4 || sample.stack == 5) collecting += weight;
  }
  const ReportOptions options{.weight = profile::Weight::kSamples};
  const double share = 100.0 * static_cast<double>(collecting) / static_cast<double>(all);
  char expected[64];
  std::snprintf(expected, sizeof expected, "garbage collection: %.1f %% of samples", share);
  EXPECT_THAT(written(write_report_text, input, options), HasSubstr(expected));
  const auto json = nlohmann::json::parse(written(write_report_json, input, options));
  EXPECT_EQ(json.at("garbage_collection"), collecting);
}

TEST(ReportText, BreaksManyProcessesDownByProcessFirst) {
  golden::Golden input = golden::make_golden();
  const std::size_t first = input.recording.processes.size();
  for (int number = 0; number < 30; ++number) {
    profile::Process& process = input.recording.processes.emplace_back();
    process.command_name = "short" + std::to_string(number);
    process.totals["samples_dropped"] = 2;
  }
  const std::string text = written(write_report_text, input, {.row_count = first + 1});
  EXPECT_THAT(text, testing::StartsWith(std::to_string(first + 30) + " processes: "));
  EXPECT_THAT(text, HasSubstr("     100  " + input.recording.processes[0].command_name + "\n"));
  EXPECT_LT(text.find("short0"), text.find("function (by"));
  EXPECT_THAT(text, Not(HasSubstr("short1")));
  EXPECT_THAT(text, HasSubstr("0.000         0         0       58           29 more\n"));
  EXPECT_THAT(written(write_report_text, input, {.row_count = 1000}), HasSubstr("short29"));
}

TEST(ReportText, FoldsRecursion) {
  golden::Golden input;
  input.recording.processes.emplace_back();
  input.recording.threads.emplace_back();
  for (const char* name : {"main", "fib", "leaf"}) {
    input.recording.frames.emplace_back();
    input.names.frames.emplace_back().emplace_back().function = name;
  }
  profile::Stack& deep = input.recording.stacks.emplace_back();
  deep.frames.assign(59, 1);
  deep.frames.front() = 2;
  deep.frames.back() = 0;
  input.recording.samples.push_back(
      {.thread = 0, .stack = 0, .state = profile::State::kRunning, .ticks = 4});
  const std::string text = written(write_report_text, input, {.weight = profile::Weight::kSamples});
  EXPECT_THAT(text, HasSubstr(" 100.0 %    fib  (recursive, 57 levels)\n"
                              " 100.0 %    leaf\n"));
}

TEST(ReportText, ShowsNoTablesOfNothing) {
  golden::Golden input;
  input.recording.processes.emplace_back().command_name = "true";
  const std::string text = written(write_report_text, input);
  EXPECT_THAT(text, Not(HasSubstr("function (by")));
}

TEST(ReportText, FitsTheTerminal) {
  const golden::Golden input = golden::make_golden();
  std::istringstream lines(written(write_report_text, input, {.columns = 40}));
  for (std::string line; std::getline(lines, line);) {
    std::size_t characters = 0;
    for (const char byte : line) characters += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    EXPECT_LE(characters, 40u) << line;
  }
}

TEST(ReportText, DrawsTheHottestPathsAsATree) {
  const std::string text = written(write_report_text, golden::make_golden());
  EXPECT_THAT(text,
              HasSubstr("  88.9 %  _start\n"
                        "  88.9 %    main\n"
                        "  84.4 %    ├─ (anonymous namespace)::burn(std::vector<int> const&)\n"
                        "  84.4 %    │  mix(unsigned int)\n"
                        "   4.4 %    └─ [frames omitted]\n"
                        "   4.4 %       (anonymous namespace)::burn"));
}

TEST(ReportText, SaysWhatBlockedThreadsWaitIn) {
  EXPECT_THAT(written(write_report_text, golden::make_golden()),
              HasSubstr("     0.550        55        2  poll\n"));
}

TEST(ReportText, SaysThatThreadsWaitedForACpu) {
  golden::Golden input = golden::make_golden();
  for (profile::Sample& sample : input.recording.samples) sample.cpu = sample.runqueue = {};
  input.recording.samples.front().cpu = std::chrono::milliseconds(900);
  input.recording.samples.front().runqueue = std::chrono::milliseconds(224);
  EXPECT_THAT(written(write_report_text, input), Not(HasSubstr("for a CPU")));
  input.recording.samples.front().runqueue = std::chrono::milliseconds(300);
  EXPECT_THAT(written(write_report_text, input),
              HasSubstr("threads waited 0.300 s for a CPU, 25.0 % of the time"));
}

TEST(ReportText, IsColouredOnlyWhenAskedTo) {
  golden::Golden input = golden::make_golden();
  input.recording.threads[1].name = "\033[31mred";
  EXPECT_THAT(written(write_report_text, input), Not(HasSubstr("\033")));
  const std::string coloured = written(write_report_text, input, {.coloured = true});
  EXPECT_THAT(coloured, HasSubstr("\033[1;31m  88.9 %\033[0m"));
  EXPECT_THAT(coloured, Not(HasSubstr("\033[31mred")));
}

TEST(ReportJson, HoldsWhatTheTextRoundsOff) {
  const golden::Golden input = golden::make_golden();
  const auto report = nlohmann::json::parse(written(write_report_json, input));
  EXPECT_EQ(report.at("processes").at(0).at("pid"), 100);
  EXPECT_EQ(report.at("weight"), "cpu");
  std::uint64_t cpu = 0;
  for (const profile::Sample& sample : input.recording.samples) {
    cpu += weight_of(sample, profile::Weight::kCpu);
  }
  EXPECT_EQ(report.at("weight_total"), cpu);
  std::uint64_t self = 0;
  for (const auto& function : report.at("functions"))
    self += function.at("self").get<std::uint64_t>();
  EXPECT_EQ(self, cpu);
  EXPECT_EQ(report.at("threads").size(), input.recording.threads.size());
  EXPECT_EQ(report.at("paths").at(0).at("function"), "_start");
  EXPECT_EQ(report.at("paths").at(1).at("depth"), 1);
  EXPECT_EQ(report.at("waits").at(0).at("syscall"), "poll");
  EXPECT_EQ(report.at("waits").at(0).at("channel"), "");
  EXPECT_EQ(report.at("waits").at(0).at("blocked_ns"), 550'000'000);
}

}  // namespace
}  // namespace swipr::exporters
