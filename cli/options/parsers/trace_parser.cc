#include <string>
#include <string_view>
#include <utility>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"
#include "cli/options/parsers/trace_options.h"
#include "cli/options/values.h"

namespace swipr::options {

namespace {

constexpr std::string_view kTraceFooter = R"(
Records samples of all threads, as 'swipr record' does, and in which calls of the functions they
were taken. Afterwards --split of report, convert and view shows what slow calls do that others do
not. FUNCTION is as for 'swipr latency'.

Examples:
  swipr trace --pid 4711 handle -d 10s -o app.swipr
  swipr report --split handle:p95 app.swipr             slow calls compared with the others
  swipr convert --split handle:p95 app.swipr -o slow.html
  swipr convert --split handle:p95:difference app.swipr -o difference.html
)";

}  // namespace

void TraceParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("trace", "Record samples, and the calls of functions they are in");
  app->formatter(with_usage("trace --pid N | --name NAME  [OPTION…]  FUNCTION…"));
  app->footer(std::string(kTraceFooter));
  add_trace_options(*app, options.trace);
  auto* interval = app->add_option_function<std::string>(
      "--interval", store(options.interval, parse_interval), "Time between ticks (default 10ms)");
  interval->type_name("TIME");
  app->add_option_function<std::string>("--rate", store(options.interval, parse_rate),
                                        "Ticks per second, instead of --interval")
      ->type_name("N")
      ->excludes(interval);
  app->add_option("-o,--output", options.output, "Write to FILE (default: PROGRAM-PID-TIME.swipr)")
      ->type_name("FILE");
  app->add_flag("--embed-symbols", options.embeds_symbols,
                "Store names in FILE, so that it can be converted on any machine");
}

ParseResult TraceParser::finish() {
  if (auto error = check_trace_options("trace", options.trace)) return *error;
  if (options.output == "-") {
    return UsageError{"trace: the recording is read again at its end; use -o FILE"};
  }
  return Command{std::move(options)};
}

}  // namespace swipr::options
