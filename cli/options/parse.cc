#include "cli/options/parse.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/values.h"

namespace swipr::options {

namespace {

constexpr std::string_view kMainFooter = R"(
Examples:
  LD_PRELOAD=libswipr_preload.so ./app        start a program so that it can be recorded
  swipr record --pid 4711 --count 1000        record 1,000 ticks of it (10 ms apart)
  swipr record -- ./app --its --arguments     start and record it from the first instruction
  swipr convert --format pprof < app.swipr > app.pb.gz
  swipr report app.swipr                      what was hot, here on the terminal

Exit codes: 0 done, 1 failed, 2 wrong usage; `record -- CMD` ends with the code of CMD.
)";

constexpr std::string_view kRecordFooter = R"(
Durations take a unit: ns, us, ms, s, min, h. Without --count and --duration a running process is
recorded until Ctrl-C or until it ends, CMD until it ends. An existing FILE is overwritten.

Examples:
  swipr record --pid 4711 --duration 10s
  swipr record --name nginx --rate 1000 --duration 5s --format pprof -o nginx.pb.gz
  swipr record -- python3 script.py
)";

constexpr std::string_view kConvertFooter = R"(
Reads .swipr files and the text recordings of Swift Profile Recorder.

Examples:
  swipr convert --format perf < app.swipr > app.perf
  swipr convert app.swipr --format collapsed --weight cpu | flamegraph.pl > app.svg
  swipr convert app.swipr --format collapsed --state blocked --weight blocked --state-frames on
  swipr convert app.swipr --format pprof -o app.pb.gz && go tool pprof -top app.pb.gz
)";

constexpr std::string_view kReportFooter = R"(
Examples:
  swipr report app.swipr
  swipr report --weight blocked --top 50 app.swipr
)";

constexpr std::string_view kListFooter = R"(
Sockets that processes left behind are removed.
)";

// The library's own usage line lists neither the positional arguments nor "-- CMD" well.
class Formatter : public CLI::Formatter {
 public:
  explicit Formatter(std::string usage) : usage_(std::move(usage)) { column_width(26); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: swipr " + usage_ + "\n";
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_size() == 0 ? "" : " " + option->get_type_name();
  }

 private:
  std::string usage_;
};

std::shared_ptr<CLI::FormatterBase> with_usage(std::string usage) {
  return std::make_shared<Formatter>(std::move(usage));
}

// Runs a values.h parser as the callback of an option; its message becomes the parser's error.
template <typename Value>
auto store(Value& target, host::Result<Value> (*parse)(std::string_view)) {
  return [&target, parse](const std::string& text) {
    auto value = parse(text);
    if (!value)
      throw CLI::ValidationError(value.error().message(), CLI::ExitCodes::ValidationError);
    target = *std::move(value);
  };
}

CLI::Option* add_format(CLI::App& app, Format& format, const std::string& help) {
  return app.add_option_function<std::string>("--format", store(format, parse_format), help)
      ->type_name("FORMAT");
}

CLI::Option* add_states(CLI::App& app, profile::StateSet& states) {
  return app
      .add_option_function<std::string>(
          "--state", store(states, parse_states),
          "Only samples of threads that were running, runnable (waiting for a CPU), blocked")
      ->type_name("STATE[,STATE]");
}

struct RecordParser {
  RecordOptions options;
  Pid pid;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent) {
    app = parent.add_subcommand("record",
                                "Record a running process, or start a program and record it");
    app->formatter(with_usage("record --pid N | --name COMM | -- CMD [ARG…]  [OPTION…]"));
    app->footer(std::string(kRecordFooter));
    auto* by_pid = app->add_option_function<std::string>("--pid", store(pid, parse_pid),
                                                         "Record the process with this id");
    by_pid->type_name("N");
    auto* by_name = app->add_option("--name", options.name,
                                    "Record every process of this name (as `swipr list` shows it)");
    by_name->type_name("COMM")->excludes(by_pid);
    app->add_option_function<std::string>("--count", store(options.ticks, parse_count),
                                          "Stop after this many ticks")
        ->type_name("N");
    app->add_option_function<std::string>("--duration", store(options.duration, parse_length),
                                          "Stop after this time")
        ->type_name("TIME");
    auto* interval = app->add_option_function<std::string>(
        "--interval", store(options.interval, parse_interval), "Time between ticks (default 10ms)");
    interval->type_name("TIME");
    app->add_option_function<std::string>("--rate", store(options.interval, parse_rate),
                                          "Ticks per second, instead of --interval")
        ->type_name("HZ")
        ->excludes(interval);
    app->add_option_function<std::string>(
           "--max-overhead", store(options.max_overhead_permille, parse_overhead),
           "Look at idle threads less often above this share of one CPU (default 2%)")
        ->type_name("PERCENT");
    app->add_option("-o,--output", options.output,
                    "Write to FILE; - is standard output (default: PROGRAM-PID-TIME.swipr)")
        ->type_name("FILE");
    add_format(*app, options.format, "raw (default), perf, pprof or collapsed");
    app->add_flag_callback(
        "--no-follow", [this] { options.follow = false; },
        "With -- CMD: leave children of CMD out");
  }

  ParseResult finish(std::vector<std::string> command, bool has_separator) {
    options.command = std::move(command);
    if (app->count("--pid") != 0) options.pid = pid;
    if (has_separator && options.command.empty()) {
      return UsageError{"record: no command behind '--'"};
    }
    const int wanted = (options.pid ? 1 : 0) + (app->count("--name") != 0 ? 1 : 0) +
                       (options.command.empty() ? 0 : 1);
    if (wanted != 1 || (app->count("--name") != 0 && options.name.empty())) {
      return UsageError{
          "record: say what to record, with exactly one of --pid N, --name COMM, -- CMD"};
    }
    if (options.ticks != 0 && options.duration.count() != 0) {
      return UsageError{"record: --count and --duration exclude each other"};
    }
    if (!options.follow && options.command.empty()) {
      return UsageError{"record: --no-follow goes with -- CMD"};
    }
    if (options.output == "-" && !options.command.empty()) {
      return UsageError{
          "record: -o - would mix the recording with the output of the command; use -o FILE"};
    }
    return Command{std::move(options)};
  }
};

struct ConvertParser {
  ConvertOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent) {
    app = parent.add_subcommand("convert",
                                "Turn a recording into perf script, pprof or collapsed stacks");
    app->formatter(with_usage("convert [INPUT|-] --format perf|pprof|collapsed  [OPTION…]"));
    app->footer(std::string(kConvertFooter));
    app->add_option("input", options.input, "The recording; - or nothing is standard input")
        ->type_name("INPUT");
    app->add_option("-o,--output", options.output, "Write to FILE; - or nothing is standard output")
        ->type_name("FILE");
    add_format(*app, options.format, "perf, pprof or collapsed")->required();
    app->add_option_function<std::string>(
           "--weight", store(options.weight, parse_weight),
           "What counts: samples (default), cpu, wall, blocked or runqueue")
        ->type_name("WEIGHT");
    add_states(*app, options.states);
    app->add_option_function<std::string>(
           "--state-frames", store(options.state_frames, parse_state_frames),
           "on, off: show what a thread waits in as the innermost frame, such as [epoll_wait] "
           "(default: on for perf only)")
        ->type_name("on|off");
    app->add_flag_callback(
        "--no-demangle", [this] { options.demangle = false; },
        "Keep names as in the symbol table (for | swift demangle)");
    app->add_flag_callback(
        "--no-inlines", [this] { options.inlines = false; }, "Leave inlined functions out");
    app->add_flag("--file-lines", options.file_lines, "perf: print file and line below each frame");
    app->add_option("--debug-dir", options.debug_directories,
                    "Look for separate debug files here, too (repeatable)")
        ->type_name("DIR")
        ->allow_extra_args(false);
  }

  ParseResult finish() {
    if (options.format == Format::kRaw) {
      return UsageError{"convert: --format raw is what goes in; use one of perf, pprof, collapsed"};
    }
    return Command{std::move(options)};
  }
};

struct ReportParser {
  ReportOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent) {
    app = parent.add_subcommand("report", "Print what was hot");
    app->formatter(with_usage("report [INPUT|-] [OPTION…]"));
    app->footer(std::string(kReportFooter));
    app->add_option("input", options.input, "The recording; - or nothing is standard input")
        ->type_name("INPUT");
    app->add_option_function<std::string>(
           "--weight", store(options.weight, parse_weight),
           "What counts: cpu (default), samples, wall, blocked or runqueue")
        ->type_name("WEIGHT");
    add_states(*app, options.states);
    app->add_option_function<std::string>("--top", store(options.function_count, parse_top),
                                          "Show at most so many functions and threads (default 20)")
        ->type_name("N");
    app->add_flag("--json", options.json, "For scripts: one JSON object");
  }

  ParseResult finish() { return Command{std::move(options)}; }
};

struct ListParser {
  ListOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent) {
    app = parent.add_subcommand("list", "Show the processes that can be recorded now");
    app->formatter(with_usage("list [--json]"));
    app->footer(std::string(kListFooter));
    app->add_flag("--json", options.json, "One JSON array instead of a table");
  }
};

struct AnswerParser {
  AnswerOptions options;
  CLI::App* app = nullptr;

  void add_to(CLI::App& parent) {
    // Started by the agent inside the recorded program, not by people: no name in the help.
    app = parent.add_subcommand("answer", "")->group("");
    add_format(*app, options.format, "")->required();
    app->add_option("--disposition", options.disposition, "");
  }

  ParseResult finish() { return Command{std::move(options)}; }
};

// One line of the parser's message, which may bring its own help hint.
UsageError usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    const auto unknown = app.remaining();
    if (unknown.empty()) return UsageError{"say what to do: record, convert, report or list"};
    return UsageError{fmt::format(
        "unknown command or option '{}': use record, convert, report or list", unknown.front())};
  }
  std::string message = error.what();
  const auto extras = chosen.front()->remaining();
  if (!extras.empty()) {
    message = fmt::format("unexpected '{}'", extras.front());
    if (chosen.front()->get_name() == "record" && !extras.front().starts_with('-')) {
      message += "; a command to start goes behind '--', as in: swipr record -- sleep 1";
    }
  }
  std::replace(message.begin(), message.end(), '\n', ' ');
  return UsageError{chosen.front()->get_name() + ": " + message};
}

ParseResult parse(std::vector<std::string> arguments, std::vector<std::string> command,
                  bool has_separator) {
  CLI::App app("swipr: a sampling profiler for programs on Linux", "swipr");
  app.formatter(with_usage("record|convert|report|list [OPTION…]"));
  app.footer(std::string(kMainFooter));
  app.set_version_flag("--version", "swipr " SWIPR_VERSION);
  app.require_subcommand(1);
  RecordParser record;
  ConvertParser convert;
  ReportParser report;
  ListParser list;
  AnswerParser answer;
  record.add_to(app);
  convert.add_to(app);
  report.add_to(app);
  list.add_to(app);
  answer.add_to(app);
  std::reverse(arguments.begin(), arguments.end());  // the parser takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return Text{chosen.empty() ? app.help() : chosen.front()->help()};
  } catch (const CLI::CallForVersion&) {
    return Text{"swipr " SWIPR_VERSION "\n"};
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  if (record.app->parsed()) return record.finish(std::move(command), has_separator);
  if (has_separator) return UsageError{"'-- CMD' goes with record"};
  if (convert.app->parsed()) return convert.finish();
  if (report.app->parsed()) return report.finish();
  if (answer.app->parsed()) return answer.finish();
  return Command{list.options};
}

}  // namespace

ParseResult parse_command_line(std::span<const char* const> arguments) {
  // What follows the first "--" belongs to the recorded command, whatever it looks like.
  const auto separator = std::find(arguments.begin(), arguments.end(), std::string_view("--"));
  const bool has_separator = separator != arguments.end();
  std::vector<std::string> command;
  if (has_separator) command.assign(separator + 1, arguments.end());
  return parse({arguments.begin(), separator}, std::move(command), has_separator);
}

}  // namespace swipr::options
