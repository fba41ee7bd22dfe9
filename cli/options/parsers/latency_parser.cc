#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"
#include "cli/options/parsers/trace_options.h"
#include "cli/options/values.h"

namespace swipr::options {

namespace {

constexpr std::string_view kLatencyFooter = R"(
Measures every call of native functions of a running program until Ctrl-C, --duration or the end of
the program, and prints quantiles and histograms. FUNCTION is one of

  handle, shop::buy, 'shop::buy(int)'   a name, with or without namespaces and parameters
  'handle*'                             all functions that match: *, ? and [a-z]
  server.cc:120                         the function that contains this line
  0x7f12a4501139                        the function at an address of the process
  libc.so.6!malloc, 'libssl!SSL_*'      the same in one file; an address is relative to its image

Examples:
  swipr latency --pid 4711 handle --duration 10s
  swipr latency --name redis-server dictFind processCommand -i 1s
  swipr latency --pid 4711 'libc.so.6!malloc' -d 5s --json
  swipr latency --pid 4711 recv --at main.cc:1312 --threads
)";

}  // namespace

void LatencyParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("latency", "Measure how long function calls take");
  app->formatter(with_usage("latency --pid N | --name NAME  [OPTION…]  FUNCTION…"));
  app->footer(std::string(kLatencyFooter));
  add_trace_options(*app, options.trace);
  app->add_option_function<std::string>("-i,--interval", store(options.interval, parse_length),
                                        "Print a row for each function at this interval")
      ->type_name("TIME");
  app->add_option_function<std::string>("--count", store(options.count, parse_count),
                                        "Stop after this many intervals")
      ->type_name("N");
  app->add_flag("--threads", options.threads, "Also show the calls of each thread");
  app->add_flag("--json", options.json,
                "Print JSON: a line for each interval, and one for all calls");
}

ParseResult LatencyParser::finish() {
  using namespace std::chrono_literals;
  if (auto error = check_trace_options("latency", options.trace)) return *error;
  if (options.interval != 0ns && (options.interval < 10ms || options.interval > 1h)) {
    return UsageError{"latency: --interval must be between 10ms and 1h"};
  }
  if (options.count != 0 && options.interval == 0ns) {
    return UsageError{"latency: --count is valid only with --interval"};
  }
  return Command{std::move(options)};
}

}  // namespace swipr::options
