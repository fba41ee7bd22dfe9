#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"
#include "cli/options/values.h"

namespace swipr::options {

namespace {

constexpr std::string_view kRecordFooter = R"(
Durations take a unit: ns, us, ms, s, min, h. Without --count and --duration a running process is
recorded until Ctrl-C or until it ends, CMD until it ends. An existing FILE is overwritten.

Examples:
  swipr record --pid 4711 --duration 10s
  swipr record --name nginx --rate 1000 --duration 5s --format pprof -o nginx.pb.gz
  swipr record -- python3 script.py
)";

}  // namespace

void RecordParser::add_to(CLI::App& parent) {
  app =
      parent.add_subcommand("record", "Record a running process, or start a program and record it");
  app->formatter(
      with_usage("record --pid N | --name COMM | --socket PATH | -- CMD [ARG…]  [OPTION…]"));
  app->footer(std::string(kRecordFooter));
  auto* by_pid = app->add_option_function<std::string>("--pid", store(options.pid, parse_pid),
                                                       "Record the process with this id");
  by_pid->type_name("N");
  auto* by_name = app->add_option("--name", options.name,
                                  "Record every process of this name (as `swipr list` shows it)");
  by_name->type_name("COMM")->excludes(by_pid);
  app->add_option("--socket", options.socket,
                  "Record the process that listens on PATH, if ids are not unique (containers)")
      ->type_name("PATH")
      ->excludes(by_pid)
      ->excludes(by_name);
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
  app->add_option_function<std::string>("--mode", store(options.mode, parse_mode),
                                        "wall (default): all time; cpu: only time on a CPU; "
                                        "offcpu: only time off the CPU, without "
                                        "signals to the process")
      ->type_name("MODE");
  app->add_option_function<std::string>(
         "--jitter", store(options.jitter, parse_jitter),
         "on (default): ticks at random intervals, so that they do not fall into step with the "
         "program; off: on a fixed grid")
      ->type_name("on|off");
  app->add_option_function<std::string>(
         "--max-overhead", store(options.max_overhead_permille, parse_overhead),
         "Sample idle threads less often above this share of one CPU (default 2%)")
      ->type_name("PERCENT");
  app->add_flag("--tasks", options.records_tasks,
                "Python: also record where asyncio tasks wait, each as a thread");
  app->add_option("-o,--output", options.output,
                  "Write to FILE; - is standard output (default: PROGRAM-PID-TIME.swipr)")
      ->type_name("FILE");
  add_format(*app, options.format, parse_format,
             "raw (default), html, pprof, speedscope, firefox, perf, collapsed or col");
  app->add_flag("--embed-symbols", options.embeds_symbols,
                "Store function names, inlined functions and lines in FILE, so that it can be "
                "converted on any machine");
  app->add_option("--json", options.json,
                  "Write the summary as JSON to FILE; - is standard output (not with -- CMD)")
      ->type_name("FILE");
  app->add_flag_callback(
      "--no-arguments", [this] { options.records_arguments = false; },
      "Omit the command line, which may contain passwords, from the recording");
  app->add_flag_callback(
      "--no-follow", [this] { options.follow = false; },
      "With -- CMD: do not record children of CMD");
}

ParseResult RecordParser::finish(std::vector<std::string> command, bool has_separator) {
  options.command = std::move(command);
  if (has_separator && options.command.empty()) {
    return UsageError{"record: no command after '--'"};
  }
  const int wanted = (options.pid ? 1 : 0) + (app->count("--name") != 0 ? 1 : 0) +
                     (app->count("--socket") != 0 ? 1 : 0) + (options.command.empty() ? 0 : 1);
  const bool is_empty = (app->count("--name") != 0 && options.name.empty()) ||
                        (app->count("--socket") != 0 && options.socket.empty());
  if (wanted != 1 || is_empty) {
    return UsageError{
        "record: exactly one of --pid N, --name COMM, --socket PATH and -- CMD is required"};
  }
  for (const std::string& file : {options.json, options.output}) {
    if (file.size() > 1 && file.starts_with('-')) {
      return UsageError{fmt::format(
          "record: FILE is missing before {0}; write ./{0} for a file of this name", file)};
    }
  }
  if (options.ticks != 0 && options.duration.count() != 0) {
    return UsageError{"record: --count and --duration cannot be combined"};
  }
  if (options.records_tasks && options.mode == profile::Mode::kCpu) {
    return UsageError{"record: --tasks and --mode cpu cannot be combined: tasks use no CPU time"};
  }
  if (!options.follow && options.command.empty()) {
    return UsageError{"record: --no-follow is valid only with -- CMD"};
  }
  if (options.embeds_symbols && (options.format != Format::kRaw || options.output == "-")) {
    return UsageError{"record: --embed-symbols requires --format raw and -o FILE"};
  }
  if (options.output == "-" && !options.command.empty()) {
    return UsageError{
        "record: -o - would mix the recording with the output of the command; use -o FILE"};
  }
  if (options.json == "-" && (options.output == "-" || !options.command.empty())) {
    return UsageError{"record: --json - would mix the summary with other output; use --json FILE"};
  }
  return Command{std::move(options)};
}

}  // namespace swipr::options
