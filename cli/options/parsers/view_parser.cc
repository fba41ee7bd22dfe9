#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"
#include "cli/options/values.h"

namespace swipr::options {

namespace {

constexpr std::string_view kViewFooter = R"(
Prints the address of the pages, which only browsers on this machine can open, and opens it if there
is a display. Serves until Ctrl-C. With --live, one page follows the process until it ends; the
address is on stderr if a command is started, and the exit code is that of the command.

Examples:
  swipr view app.swipr
  swipr view --live --pid 4711              what it does now, and did in the last minutes
  swipr view --live --name redis-server --latency processCommand
  swipr view --live -- python3 script.py    start it, and show what it does
  swipr view --pid 4711 --duration 5s       record first; the recording is kept
  ssh -L 8080:127.0.0.1:PORT host           from another machine; then http://localhost:…
)";

}  // namespace

void ViewParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("view", "Show a recording, or a running process, in the browser");
  app->formatter(with_usage(
      "view INPUT… | --pid N | --live --pid N | --live --name NAME | --live -- CMD [ARG…]  "
      "[OPTION…]"));
  app->footer(std::string(kViewFooter));
  app->add_option("input", options.inputs, "Recordings to merge")->type_name("INPUT…");
  app->add_option_function<std::string>("--pid", store(options.pid, parse_pid),
                                        "Record this process first, then show it")
      ->type_name("N");
  app->add_flag("--live", options.is_live, "Follow the process while it runs");
  app->add_option("--name", options.name, "With --live: the first process with this name")
      ->type_name("NAME");
  app->add_option_function<std::string>("--interval", store(options.interval, parse_interval),
                                        "With --live: time between two ticks (default 10ms)")
      ->type_name("TIME");
  app->add_option("--latency", options.latency,
                  "With --live: trace calls of this function, too (as in swipr latency)")
      ->type_name("FUNCTION")
      ->allow_extra_args(false);
  app->add_option_function<std::string>("--duration", store(options.duration, parse_length),
                                        "How long to record (default 10s)")
      ->type_name("TIME");
  app->add_flag_callback(
      "--no-browser", [this] { options.opens_browser = false; }, "Only print the address");
  add_filters(*app, options.filters);
  add_symbol_options(*app, options.symbols);
}

ParseResult ViewParser::finish_live() {
  const int wanted =
      (options.pid ? 1 : 0) + (options.name.empty() ? 0 : 1) + (options.command.empty() ? 0 : 1);
  if (!options.inputs.empty() || wanted != 1) {
    return UsageError{
        "view: --live requires exactly one of --pid N, --name NAME and -- CMD, and no recording"};
  }
  for (const std::string_view option :
       {"--duration", "--state", "--thread", "--from", "--to", "--only", "--hide", "--focus",
        "--frames", "--label", "--split", "--merge-threads"}) {
    if (app->get_option(std::string(option))->count() != 0) {
      return UsageError{
          fmt::format("view: {} does not work with --live: the page selects", option)};
    }
  }
  return Command{std::move(options)};
}

ParseResult ViewParser::finish(std::vector<std::string> command, bool has_separator) {
  options.command = std::move(command);
  if (has_separator && !options.is_live) return UsageError{"view: '-- CMD' requires --live"};
  if (has_separator && options.command.empty()) {
    return UsageError{"view: no command after '--'"};
  }
  if (options.is_live) return finish_live();
  for (const char* option : {"--name", "--interval", "--latency"}) {
    if (app->get_option(option)->count() != 0) {
      return UsageError{fmt::format("view: {} requires --live", option)};
    }
  }
  if (options.pid.has_value() != options.inputs.empty()) {
    return UsageError{"view: either a recording or --pid N is required"};
  }
  if (!options.pid && app->get_option("--duration")->count() != 0) {
    return UsageError{"view: --duration requires --pid"};
  }
  const auto& samples = options.filters.samples;
  if (samples.from && samples.to && *samples.from >= *samples.to) {
    return UsageError{"view: --from must be before --to"};
  }
  return Command{std::move(options)};
}

}  // namespace swipr::options
