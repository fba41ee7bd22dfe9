#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"
#include "cli/options/values.h"

namespace swipr::options {

namespace {

constexpr std::string_view kDoctorFooter = R"(
One line for each thing that a recording needs, with the remedy where something is missing.
Ends with 1 if nothing can be recorded. --compare-unwinders records CMD, has each stack walked by
swipr's tables and by the system's libunwind, and prints where they differ; it ends with 0 if they
do not, 3 if they do, 1 if nothing was compared.

Examples:
  swipr doctor                 this machine and user, with a recording as the proof
  swipr doctor --pid 4711      why can this process (not) be recorded?
  swipr doctor --compare-unwinders -- ./app
)";

}  // namespace

void DoctorParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("doctor", "Check what can be recorded, and print remedies");
  app->formatter(with_usage("doctor [--pid N | --compare-unwinders -- CMD [ARG…]]"));
  app->footer(std::string(kDoctorFooter));
  app->add_option_function<std::string>("--pid", store(options.pid, parse_pid),
                                        "Check this process")
      ->type_name("N");
  app->add_flag("--compare-unwinders", options.compares_unwinders,
                "With -- CMD: record CMD and compare swipr's stacks with libunwind's");
}

ParseResult DoctorParser::finish(std::vector<std::string> command, bool has_separator) {
  options.command = std::move(command);
  if (options.compares_unwinders && options.command.empty()) {
    return UsageError{
        "doctor: --compare-unwinders requires a command, as in: swipr doctor --compare-unwinders "
        "-- ./app"};
  }
  if (options.compares_unwinders && options.pid) {
    return UsageError{
        "doctor: --compare-unwinders starts a command and cannot be combined with --pid"};
  }
  if (has_separator && !options.compares_unwinders) {
    return UsageError{"doctor: '-- CMD' is valid only with --compare-unwinders"};
  }
  return Command{std::move(options)};
}

}  // namespace swipr::options
