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
Prints one line for each requirement of a recording, and the remedy if it is not met. The exit status
is 1 if nothing can be recorded. --compare-unwinders records CMD, walks each stack with swipr's tables
and with the system's libunwind, and prints the differences; the exit status is 0 if there are none,
3 if there are some, and 1 if nothing was compared.

Examples:
  swipr doctor                 check this machine and user, with a test recording
  swipr doctor --pid 4711      check whether this process can be recorded, and why not
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
