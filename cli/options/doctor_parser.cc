#include <string>
#include <string_view>

#include "cli/options/parser_support.h"
#include "cli/options/parsers.h"
#include "cli/options/values.h"

namespace swipr::options {

namespace {

constexpr std::string_view kDoctorFooter = R"(
One line for each thing that a recording needs, with the remedy where something is missing.
Ends with 1 if nothing can be recorded.

Examples:
  swipr doctor                 this machine and user, with a recording as the proof
  swipr doctor --pid 4711      why can this process (not) be recorded?
)";

}  // namespace

void DoctorParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("doctor", "Check what can be recorded, and print remedies");
  app->formatter(with_usage("doctor [--pid N]"));
  app->footer(std::string(kDoctorFooter));
  app->add_option_function<std::string>("--pid", store(options.pid, parse_pid),
                                        "Check this process")
      ->type_name("N");
}

ParseResult DoctorParser::finish() { return Command{options}; }

}  // namespace swipr::options
