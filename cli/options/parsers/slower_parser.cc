#include <string>
#include <string_view>
#include <utility>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"
#include "cli/options/parsers/trace_options.h"
#include "cli/options/values.h"
#include "common/core/quantile_text.h"
#include "common/host/text/duration.h"

namespace swipr::options {

namespace {

constexpr std::string_view kSlowerFooter = R"(
Prints each call of a native function that takes longer than THRESHOLD, with its thread, arguments,
result and callers, until Ctrl-C, --count, --duration or the end of the program; at the end, how
many there were and how much of the time they took. THRESHOLD is a duration (5ms) or a quantile of
all calls (p95, p99.9), which is computed again each second. FUNCTION is as for 'swipr latency'.
With debug information, arguments have names and types, and strings are shown as they are when the
call ends.

Examples:
  swipr slower --pid 4711 handle 5ms
  swipr slower --pid 4711 'shop::buy' p99 --count 10 --stack
  swipr slower --name redis-server dictFind 100us --at t_hash.c:712 --json
)";

}  // namespace

void SlowerParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("slower", "Print calls that take longer than a threshold");
  app->formatter(with_usage("slower --pid N | --name NAME  [OPTION…]  FUNCTION…  THRESHOLD"));
  app->footer(std::string(kSlowerFooter));
  add_trace_options(*app, options.trace);
  app->add_option_function<std::string>("--count", store(options.count, parse_count),
                                        "Stop after this many slow calls")
      ->type_name("N");
  app->add_option("--args", options.arguments,
                  "Show this many arguments, 0 for none (default: all if their types are known,\n"
                  "otherwise 3)")
      ->type_name("N")
      ->check(CLI::Range(0, 64));
  app->add_flag("--stack", options.stack, "Show all callers, not only the nearest three");
  app->add_flag("--json", options.json,
                "Print JSON: a line for each slow call, and one for all calls");
}

ParseResult SlowerParser::finish() {
  auto& functions = options.trace.functions;
  if (!functions.empty()) {
    options.threshold = std::move(functions.back());
    functions.pop_back();
  }
  if (auto error = check_trace_options("slower", options.trace)) return *error;
  if (parse_quantile(options.threshold)) return Command{std::move(options)};
  const auto time = host::parse_duration(options.threshold);
  if (!time || time->count() <= 0) {
    return UsageError{"slower: the last word must be a threshold such as 5ms or p95, not '" +
                      options.threshold + "'"};
  }
  options.threshold = host::format_exact_duration(*time);
  return Command{std::move(options)};
}

}  // namespace swipr::options
