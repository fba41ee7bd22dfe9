#include "cli/options/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/cli/options/parsed.h"

namespace swipr::options {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ParseRecord, TakesAProcessAndLimits) {
  const auto options = parsed<RecordOptions>(
      {"record", "--pid", "4711", "--count", "1000", "--interval", "2ms", "-o", "x.swipr"});
  EXPECT_EQ(options.pid, Pid{4711});
  EXPECT_EQ(options.ticks, 1000u);
  EXPECT_EQ(options.duration, 0ns);
  EXPECT_EQ(options.interval, 2ms);
  EXPECT_EQ(options.output, "x.swipr");
  EXPECT_EQ(options.format, Format::kRaw);
}

TEST(ParseRecord, TakesAPlaceForTheJsonSummary) {
  EXPECT_EQ(parsed<RecordOptions>({"record", "--pid", "1", "--json", "-"}).json, "-");
  EXPECT_EQ(parsed<RecordOptions>({"record", "--json", "x", "--", "true"}).json, "x");
  EXPECT_THAT(error_of({"record", "--json", "-", "--", "true"}), HasSubstr("--json FILE"));
  EXPECT_THAT(error_of({"record", "--pid", "1", "-o", "-", "--json", "-"}),
              HasSubstr("--json FILE"));
}

TEST(ParseVersion, NamesVersionCommitAndBuildType) {
  const auto result = parse({"--version"});
  const auto* text = std::get_if<Text>(&result);
  ASSERT_NE(text, nullptr);
  EXPECT_THAT(text->text, testing::MatchesRegex(
                              "swipr [0-9.]+ [(]commit [0-9a-z-]+, build type [A-Za-z]+[)]\n"));
}

TEST(ParseConvert, TakesStatesAndStateFrames) {
  using profile::State;
  const auto options = parsed<ConvertOptions>(
      {"convert", "--format", "pprof", "--state", "running,blocked", "--state-frames", "on"});
  EXPECT_TRUE(options.filters.samples.states.has(State::kRunning));
  EXPECT_TRUE(options.filters.samples.states.has(State::kBlocked));
  EXPECT_FALSE(options.filters.samples.states.has(State::kRunnable));
  EXPECT_EQ(options.state_frames, StateFrames::kOn);
  EXPECT_TRUE(parsed<ReportOptions>({"report"}).filters.samples.states.empty());
  EXPECT_THAT(error_of({"report", "--state", "blocked,"}), HasSubstr("unknown state ''"));
  EXPECT_THAT(error_of({"convert", "--format", "perf", "--state-frames", "yes"}),
              HasSubstr("use one of on, off"));
}

TEST(ParseConvert, TakesLabelsOfPprofSamples) {
  const auto options =
      parsed<ConvertOptions>({"convert", "--format", "pprof", "--pprof-labels", "none"});
  EXPECT_EQ(options.pprof_labels, PprofLabels::kNone);
  EXPECT_EQ(parsed<ConvertOptions>({"convert", "--format", "pprof"}).pprof_labels,
            PprofLabels::kAll);
  EXPECT_THAT(error_of({"convert", "--format", "perf", "--pprof-labels", "none"}),
              HasSubstr("requires --format pprof"));
  EXPECT_THAT(error_of({"convert", "--format", "pprof", "--diff", "x", "--pprof-labels", "none"}),
              HasSubstr("without --diff"));
}

TEST(ParseConvert, TakesKindsOfFrames) {
  using profile::FrameKinds;
  EXPECT_EQ(parsed<ReportOptions>({"report"}).filters.frames, FrameKinds::kMixed);
  EXPECT_EQ(parsed<ReportOptions>({"report", "--frames", "native"}).filters.frames,
            FrameKinds::kNative);
  EXPECT_EQ(parsed<ViewOptions>({"view", "--pid", "5", "--frames", "language"}).filters.frames,
            FrameKinds::kLanguage);
  const auto options = parsed<ConvertOptions>(
      {"convert", "--format", "collapsed", "--frames", "language", "--frame-kinds"});
  EXPECT_EQ(options.filters.frames, FrameKinds::kLanguage);
  EXPECT_TRUE(options.frame_kinds);
  EXPECT_FALSE(parsed<ConvertOptions>({"convert", "--format", "collapsed"}).frame_kinds);
  EXPECT_THAT(error_of({"report", "--frames", "python"}),
              HasSubstr("use one of mixed, native, language"));
}

TEST(ParseRecord, DefaultsToTenMillisecondsWithoutEnd) {
  const auto options = parsed<RecordOptions>({"record", "--name", "nginx"});
  EXPECT_EQ(options.name, "nginx");
  EXPECT_EQ(options.interval, 10ms);
  EXPECT_EQ(options.ticks, 0u);
  EXPECT_TRUE(options.follow);
  EXPECT_EQ(options.mode, profile::Mode::kWall);
  EXPECT_TRUE(options.jitter);
  EXPECT_FALSE(parsed<RecordOptions>({"record", "--pid", "1", "--jitter", "off"}).jitter);
  EXPECT_TRUE(options.records_arguments);
  EXPECT_FALSE(parsed<RecordOptions>({"record", "--pid", "1", "--no-arguments"}).records_arguments);
  EXPECT_EQ(parsed<RecordOptions>({"record", "--pid", "1", "--mode", "offcpu"}).mode,
            profile::Mode::kOffCpu);
  EXPECT_FALSE(options.records_tasks);
  EXPECT_TRUE(parsed<RecordOptions>({"record", "--pid", "1", "--tasks"}).records_tasks);
}

TEST(ParseRecord, LeavesEverythingBehindTheSeparatorToTheCommand) {
  const auto options = parsed<RecordOptions>(
      {"record", "--rate", "1000", "--", "app", "--pid", "x", "--", "-o", "--help"});
  EXPECT_EQ(options.interval, 1ms);
  EXPECT_THAT(options.command, ElementsAre("app", "--pid", "x", "--", "-o", "--help"));
  EXPECT_EQ(options.output, "");
}

TEST(ParseRecord, TakesFractionalRates) {
  EXPECT_EQ(parsed<RecordOptions>({"record", "--pid", "1", "--rate", "0.5"}).interval, 2s);
  EXPECT_EQ(parsed<RecordOptions>({"record", "--pid", "1", "--max-overhead", "10%"})
                .max_overhead_permille,
            100u);
  EXPECT_EQ(parsed<RecordOptions>({"record", "--pid", "1", "--rate", "100Hz"}).interval, 10ms);
}

TEST(ParseRecord, TakesStandardOutput) {
  EXPECT_EQ(parsed<RecordOptions>({"record", "--pid", "1", "-o", "-"}).output, "-");
  EXPECT_THAT(error_of({"record", "-o", "-", "--", "true"}), HasSubstr("-o FILE"));
}

struct WrongUsage {
  std::vector<const char*> arguments;
  const char* message;
};

class ParseWrong : public testing::TestWithParam<WrongUsage> {};

TEST_P(ParseWrong, SaysWhatIsWrong) {
  const std::string message = error_of(GetParam().arguments);
  EXPECT_THAT(message, HasSubstr(GetParam().message));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Usage, ParseWrong,
    testing::Values(
        WrongUsage{{}, "a command is required"}, WrongUsage{{"frobnicate"}, "frobnicate"},
        WrongUsage{{"push", "file"}, "the URL of a store"},
        WrongUsage{{"push", "file", "parca+http://x", "--label", "=x"}, "not NAME=VALUE"},
        WrongUsage{{"record"}, "exactly one of"}, WrongUsage{{"record", "--"}, "no command"},
        WrongUsage{{"record", "--pid", "1", "--", "true"}, "exactly one of"},
        WrongUsage{{"record", "--name", ""}, "exactly one of"},
        WrongUsage{{"record", "--socket", ""}, "exactly one of"},
        WrongUsage{{"record", "--socket", "/x", "--pid", "1"}, "excludes"},
        WrongUsage{{"record", "--pid", "1", "--name", "x"}, "--pid"},
        WrongUsage{{"record", "sleep", "1"}, "record -- sleep 1"},
        WrongUsage{{"record", "--pid", "0"}, "process id"},
        WrongUsage{{"record", "--pid", "99999999999999"}, "process id"},
        WrongUsage{{"record", "--pid", "1", "--count", "0"}, "count '0'"},
        WrongUsage{{"record", "--pid", "1", "--count", "-1"}, "count '-1'"},
        WrongUsage{{"record", "--pid", "1", "--count", "5", "--duration", "1s"},
                   "--count and --duration"},
        WrongUsage{{"record", "--pid", "1", "--duration", "0s"}, "--duration"},
        WrongUsage{{"record", "--pid", "1", "--interval", "1ns"}, "interval '1ns' is out of range"},
        WrongUsage{{"record", "--pid", "1", "--interval", "2h"}, "interval '2h' is out of range"},
        WrongUsage{{"record", "--pid", "1", "--interval", "10"}, "number and a unit"},
        WrongUsage{{"record", "--pid", "1", "--max-overhead", "0"}, "--max-overhead: '0'"},
        WrongUsage{{"record", "--pid", "1", "--mode", "on"}, "use one of wall, cpu, offcpu"},
        WrongUsage{{"record", "--pid", "1", "--rate", "nan"}, "rate 'nan'"},
        WrongUsage{{"record", "--pid", "1", "--rate", "1e-300"}, "rate '1e-300' is out of range"},
        WrongUsage{{"record", "--pid", "1", "--rate", "5", "--interval", "1s"}, "--rate"},
        WrongUsage{{"record", "--pid", "1", "--format", "jpeg"},
                   "html, pprof, speedscope, firefox, perf, collapsed, col, raw"},
        WrongUsage{{"record", "--pid", "1", "--no-follow"}, "-- CMD"},
        WrongUsage{{"convert"}, "--format"},
        WrongUsage{{"convert", "-o", "x.json"}, "speedscope or firefox"},
        WrongUsage{{"convert", "-o", "x.txt"}, "not that of a format"},
        WrongUsage{{"convert", "-o", "x.svg"}, "no SVG output"},
        WrongUsage{{"convert", "--format", "svg"}, "no SVG output"},
        WrongUsage{{"recrod"}, "did you mean 'record'?"},
        WrongUsage{{"rep"}, "did you mean 'report'?"},
        WrongUsage{{"help", "reprot"}, "did you mean 'report'?"},
        WrongUsage{{"record", "--durations", "1s"}, "did you mean '--duration'?"},
        WrongUsage{{"record", "--json", "-o", "x"},
                   "--json needs a value, but the option -o follows"},
        WrongUsage{{"report", "--jsno"}, "did you mean '--json'?"},
        WrongUsage{{"xyzzy"},
                   "use record, convert, report, top, latency, slower, trace, view, agent, push, "
                   "list or doctor"},
        WrongUsage{{"convert", "--format", "raw"},
                   "html, pprof, speedscope, firefox, perf, collapsed"},
        WrongUsage{{"convert", "--format", "perf", "--weight", "gold"}, "weight 'gold'"},
        WrongUsage{{"convert", "--format", "perf", "--", "x"}, "record"},
        WrongUsage{{"convert", "--format", "perf", "--diff", "x"}, "html, pprof or collapsed"},
        WrongUsage{{"convert", "--format", "perf", "--invert"}, "html, collapsed or speedscope"},
        WrongUsage{{"convert", "--format", "perf", "--from", "2s", "--to", "1s"}, "before --to"},
        WrongUsage{{"doctor", "--compare-unwinders"}, "requires a command"},
        WrongUsage{{"doctor", "--compare-unwinders", "./app"}, "put a command after '--'"},
        WrongUsage{{"doctor", "--compare-unwinders", "--pid", "1", "--", "x"}, "with --pid"},
        WrongUsage{{"doctor", "--", "x"}, "'-- CMD' is valid only with --compare-unwinders"},
        WrongUsage{{"agent", "--max-host-overhead", "200%"}, "not a share of all CPUs"},
        WrongUsage{{"view"}, "a recording or --pid N"},
        WrongUsage{{"view", "--pid", "1", "x.swipr"}, "either a recording or --pid N"},
        WrongUsage{{"view", "--duration", "1s", "x.swipr"}, "--duration requires --pid"},
        WrongUsage{{"report", "--top", "0"}, "top '0'"}, WrongUsage{{"list", "extra"}, "extra"}));

TEST(ParseConvert, ReadsAndWritesStandardStreamsByDefault) {
  const auto options = parsed<ConvertOptions>({"convert", "--format", "pprof"});
  EXPECT_THAT(options.inputs, ElementsAre("-"));
  EXPECT_EQ(options.output, "-");
  EXPECT_EQ(options.format, Format::kPprof);
  EXPECT_FALSE(options.weight.has_value());
  EXPECT_TRUE(options.symbols.demangle);
}

TEST(ParseConvert, TakesTheFormatFromTheNameOfTheOutput) {
  const auto format_of = [](const char* output) {
    return parsed<ConvertOptions>({"convert", "in.swipr", "-o", output}).format;
  };
  EXPECT_EQ(format_of("x.html"), Format::kHtml);
  EXPECT_EQ(format_of("x.pb.gz"), Format::kPprof);
  EXPECT_EQ(format_of("x.pprof"), Format::kPprof);
  EXPECT_EQ(format_of("x.speedscope.json"), Format::kSpeedscope);
  EXPECT_EQ(format_of("x.firefox.json"), Format::kFirefox);
  EXPECT_EQ(format_of("x.firefox.json.gz"), Format::kFirefox);
  EXPECT_EQ(format_of("x.folded"), Format::kCollapsed);
  EXPECT_EQ(format_of("x.collapsed"), Format::kCollapsed);
  EXPECT_EQ(format_of("x.perf"), Format::kPerf);
  const auto named =
      parsed<ConvertOptions>({"convert", "in.swipr", "-o", "x.html", "--format", "perf"});
  EXPECT_EQ(named.format, Format::kPerf);
}

TEST(ParseConvert, TakesEveryOption) {
  const auto options = parsed<ConvertOptions>(
      {"convert", "--debug-dir", "/a", "in.swipr", "--debug-dir", "/b", "--format", "perf", "-o",
       "out", "--weight", "blocked", "--no-demangle", "--no-inlines", "--file-lines"});
  EXPECT_THAT(options.inputs, ElementsAre("in.swipr"));
  EXPECT_EQ(options.output, "out");
  EXPECT_EQ(options.weight, Weight::kBlocked);
  EXPECT_FALSE(options.symbols.demangle);
  EXPECT_FALSE(options.symbols.inlines);
  EXPECT_TRUE(options.file_lines);
  EXPECT_THAT(options.symbols.debug_directories, ElementsAre("/a", "/b"));
}

TEST(ParseConvert, TakesFilters) {
  const auto options = parsed<ConvertOptions>(
      {"convert", "a.swipr",         "b.swipr",  "--format", "html", "--thread",
       "pool*",   "--thread",        "7",        "--from",   "0",    "--to",
       "2s",      "--only",          "a|b",      "--label",  "a=b*", "--label",
       "c=",      "--merge-threads", "--invert", "--diff",   "c"});
  EXPECT_THAT(options.inputs, ElementsAre("a.swipr", "b.swipr"));
  EXPECT_THAT(options.filters.samples.threads, ElementsAre("pool*", "7"));
  EXPECT_THAT(options.filters.samples.labels,
              ElementsAre(profile::LabelPattern{"a", "b*"}, profile::LabelPattern{"c", ""}));
  EXPECT_EQ(options.filters.samples.from, std::chrono::seconds(0));
  EXPECT_EQ(options.filters.samples.to, std::chrono::seconds(2));
  EXPECT_EQ(options.filters.only, "a|b");
  EXPECT_TRUE(options.filters.merge_threads);
  EXPECT_TRUE(options.invert);
  EXPECT_EQ(options.base, "c");
}

TEST(ParseReport, LeavesTheWeightToTheRecording) {
  const auto options = parsed<ReportOptions>({"report", "--top", "5", "--json", "in.swipr"});
  EXPECT_FALSE(options.weight.has_value());
  EXPECT_EQ(options.row_count, 5u);
  EXPECT_TRUE(options.json);
  EXPECT_THAT(options.inputs, ElementsAre("in.swipr"));
}

TEST(ParseView, RecordsForTenSecondsUnlessTold) {
  const auto options = parsed<ViewOptions>({"view", "--pid", "4711", "--no-browser"});
  EXPECT_EQ(options.pid, Pid{4711});
  EXPECT_EQ(options.duration, std::chrono::seconds(10));
  EXPECT_FALSE(options.opens_browser);
}

TEST(ParseView, FollowsAProcess) {
  const auto options = parsed<ViewOptions>(
      {"view", "--live", "--pid", "5", "--interval", "5ms", "--latency", "f", "--latency", "g"});
  EXPECT_EQ(options.latency, (std::vector<std::string>{"f", "g"}));
  EXPECT_TRUE(options.is_live);
  EXPECT_EQ(options.pid, Pid{5});
  EXPECT_EQ(options.interval, 5ms);
  EXPECT_EQ(parsed<ViewOptions>({"view", "--live", "--name", "nginx"}).name, "nginx");
  for (const std::vector<const char*>& wrong :
       std::vector<std::vector<const char*>>{{"view", "--live"},
                                             {"view", "--live", "--pid", "5", "--name", "nginx"},
                                             {"view", "--live", "--pid", "5", "--", "true"},
                                             {"view", "--live", "--pid", "5", "app.swipr"}}) {
    EXPECT_THAT(error_of(wrong), HasSubstr("exactly one of --pid N, --name NAME and -- CMD"));
  }
  EXPECT_THAT(error_of({"view", "--live", "--pid", "5", "--only", "f"}),
              HasSubstr("--only does not work with --live"));
  EXPECT_THAT(error_of({"view", "--live", "--pid", "5", "--label", "a=b"}),
              HasSubstr("--label does not work with --live"));
  EXPECT_THAT(error_of({"view", "--pid", "5", "--interval", "5ms"}),
              HasSubstr("--interval requires --live"));
  EXPECT_THAT(error_of({"view", "--pid", "5", "--latency", "f"}),
              HasSubstr("--latency requires --live"));
}

TEST(ParseView, StartsACommand) {
  const auto options = parsed<ViewOptions>({"view", "--live", "--", "app", "--pid", "5"});
  EXPECT_EQ(options.command, (std::vector<std::string>{"app", "--pid", "5"}));
  EXPECT_FALSE(options.pid.has_value());
  EXPECT_THAT(error_of({"view", "--live", "--"}), HasSubstr("no command after '--'"));
  EXPECT_THAT(error_of({"view", "--", "true"}), HasSubstr("'-- CMD' requires --live"));
  EXPECT_THAT(error_of({"view", "app.swipr", "--", "true"}), HasSubstr("requires --live"));
  EXPECT_THAT(error_of({"top", "--", "true"}), HasSubstr("valid only with record, view --live"));
}

TEST(ParseHelp, IsTextAndHidesTheAgentsCommand) {
  for (const std::vector<const char*>& arguments :
       {std::vector{"--help"}, std::vector{"record", "--help"}, std::vector{"convert", "--help"}}) {
    const auto result = parse(arguments);
    ASSERT_TRUE(std::holds_alternative<Text>(result));
    EXPECT_THAT(std::get<Text>(result).text, HasSubstr("Examples:"));
    EXPECT_THAT(std::get<Text>(result).text, testing::Not(HasSubstr("answer")));
  }
}

TEST(ParseHelp, IsACommandToo) {
  const auto text_of = [](std::vector<const char*> arguments) {
    const auto result = parse(std::move(arguments));
    return std::holds_alternative<Text>(result) ? std::get<Text>(result).text : "no text";
  };
  EXPECT_EQ(text_of({"help"}), text_of({"--help"}));
  EXPECT_EQ(text_of({"help", "record"}), text_of({"record", "--help"}));
  EXPECT_EQ(text_of({"version"}), text_of({"--version"}));
}

TEST(ParseDoctor, TakesACommandToCompareUnwindersOn) {
  const auto options =
      parsed<DoctorOptions>({"doctor", "--compare-unwinders", "--", "app", "--pid", "x"});
  EXPECT_TRUE(options.compares_unwinders);
  EXPECT_THAT(options.command, ElementsAre("app", "--pid", "x"));
  EXPECT_FALSE(parsed<DoctorOptions>({"doctor"}).compares_unwinders);
  EXPECT_EQ(parsed<DoctorOptions>({"doctor", "--pid", "7"}).pid, Pid{7});
}

TEST(ParseInstallPreload, NeedsAServiceOrTheUser) {
  const auto service = parsed<InstallPreloadOptions>({"install-preload", "--service", "nginx"});
  EXPECT_EQ(service.service, "nginx.service");
  EXPECT_FALSE(service.of_user || service.removes);
  const auto user =
      parsed<InstallPreloadOptions>({"install-preload", "--user", "--remove", "--root", "/image/"});
  EXPECT_TRUE(user.of_user && user.removes && user.service.empty());
  EXPECT_EQ(user.root, "/image");
  EXPECT_THAT(error_of({"install-preload"}), HasSubstr("--service NAME or --user"));
}

TEST(ParsePreloadPath, TakesNothing) {
  parsed<PreloadPathOptions>({"preload-path"});
  EXPECT_THAT(error_of({"preload-path", "extra"}), HasSubstr("extra"));
}

TEST(ParseAnswer, TakesFormatAndFileName) {
  const auto options =
      parsed<AnswerOptions>({"answer", "--format", "collapsed", "--disposition", "samples-1.perf"});
  EXPECT_EQ(options.format, Format::kCollapsed);
  EXPECT_EQ(options.disposition, "samples-1.perf");
}

}  // namespace
}  // namespace swipr::options
