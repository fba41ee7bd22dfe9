#include <string>
#include <string_view>
#include <utility>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"
#include "cli/options/values.h"

namespace swipr::options {

namespace {

constexpr std::string_view kReportFooter = R"(
Examples:
  swipr report app.swipr
  swipr report --weight blocked --top 50 app.swipr
  swipr report --thread 'worker*' --hide '^std::' app.swipr
  swipr report --split handle:p95 app.swipr     what slow calls do, and the locks they wait for
)";

}  // namespace

void ReportParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("report", "Print hot functions, hot paths, threads and waits");
  app->formatter(with_usage("report [INPUT…|-] [OPTION…]"));
  app->footer(std::string(kReportFooter));
  app->add_option("input", options.inputs, "Recordings to merge (default and -: standard input)")
      ->type_name("INPUT…");
  app->add_option_function<std::string>(
         "--weight", store(options.weight, parse_weight),
         "Weight of a stack: cpu (default), samples, wall, blocked (default for offcpu) or "
         "runqueue")
      ->type_name("WEIGHT");
  add_filters(*app, options.filters);
  app->add_option_function<std::string>("--top", store(options.row_count, parse_top),
                                        "Print at most N lines of each part (default 20)")
      ->type_name("N");
  add_symbol_options(*app, options.symbols);
  app->add_flag("--json", options.json, "Print a JSON object");
}

ParseResult ReportParser::finish() {
  const auto& samples = options.filters.samples;
  if (samples.from && samples.to && *samples.from >= *samples.to) {
    return UsageError{"report: --from must be before --to"};
  }
  return Command{std::move(options)};
}

}  // namespace swipr::options
