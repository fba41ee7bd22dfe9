#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"
#include "cli/options/values.h"

namespace swipr::options {

namespace {

constexpr std::string_view kTopFooter = R"(
Shows the hot functions, the call tree, threads and locks of the last seconds while the program
runs. ? shows the keys; t traces the chosen function, 9 shows what its slow calls do. Prints one window of time as text with --once, or without a terminal.

Examples:
  swipr top --pid 4711
  swipr top --name redis-server --weight wall
  swipr top --pid 4711 --once --window 5s     for scripts
)";

}  // namespace

void TopParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("top", "Show live what a process does, in the terminal");
  app->formatter(with_usage("top --pid N | --name NAME  [OPTION…]"));
  app->footer(std::string(kTopFooter));
  app->add_option_function<std::string>("--pid", store(options.pid, parse_pid), "This process")
      ->type_name("N");
  app->add_option("--name", options.name, "The first process with this name")->type_name("NAME");
  app->add_option_function<std::string>("--window", store(options.window, parse_length),
                                        "Length of the time that is shown: 1s to 60s (default 10s)")
      ->type_name("TIME");
  app->add_option_function<std::string>("--interval", store(options.interval, parse_interval),
                                        "Time between two ticks (default 10ms)")
      ->type_name("TIME");
  app->add_option_function<std::string>(
         "--weight", store(options.weight, parse_weight),
         "Weight of a stack: samples, cpu (default), wall, blocked or runqueue")
      ->type_name("WEIGHT");
  app->add_flag("--once", options.once, "Print one window as text and exit");
  add_symbol_options(*app, options.symbols);
}

ParseResult TopParser::finish() {
  using namespace std::chrono_literals;
  if (options.pid.has_value() != options.name.empty()) {
    return UsageError{"top: either --pid N or --name NAME is required"};
  }
  if (options.window < 1s || options.window > 60s) {
    return UsageError{"top: --window must be between 1s and 60s"};
  }
  return Command{std::move(options)};
}

}  // namespace swipr::options
