#include "cli/options/parsers/trace_options.h"

#include <fmt/format.h>

#include <string>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/values.h"

namespace swipr::options {

void add_trace_options(CLI::App& app, TraceOptions& options) {
  app.add_option("FUNCTION", options.functions, "Functions to measure, at most 32");
  app.add_option_function<std::string>("--pid", store(options.pid, parse_pid), "This process")
      ->type_name("N");
  app.add_option("--name", options.name, "The first process with this name")->type_name("NAME");
  app.add_option("--at", options.site, "Only calls made by this source line")
      ->type_name("FILE:LINE");
  app.add_option_function<std::string>("-d,--duration", store(options.duration, parse_length),
                                       "Stop after this time")
      ->type_name("TIME");
  app.add_option_function<std::string>(
         "--max-overhead", store(options.max_overhead_permille, parse_overhead),
         "Stop tracing functions above this share of one CPU (default 2%)")
      ->type_name("PERCENT");
  app.add_option("--debug-dir", options.debug_directories,
                 "Search DIR for separate debug files, before /usr/lib/debug; repeatable")
      ->type_name("DIR")
      ->allow_extra_args(false);
}

std::optional<UsageError> check_trace_options(std::string_view command,
                                              const TraceOptions& options) {
  const auto error = [command](std::string_view text) {
    return UsageError{fmt::format("{}: {}", command, text)};
  };
  if (options.pid.has_value() != options.name.empty()) {
    return error("either --pid N or --name NAME is required");
  }
  if (options.functions.empty()) {
    return error(fmt::format("a FUNCTION is required, as in: swipr {} --pid 4711 handle{}", command,
                             command == "slower" ? " 5ms" : ""));
  }
  return std::nullopt;
}

}  // namespace swipr::options
