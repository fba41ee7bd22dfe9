#include "cli/options/parse.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/parser_support.h"
#include "cli/options/parsers.h"
#include "cli/options/version.h"

namespace swipr::options {

namespace {

constexpr std::string_view kMainFooter = R"(
Examples:
  LD_PRELOAD=libswipr_preload.so ./app        start a program so that it can be recorded
  swipr record --pid 4711 --count 1000        record 1,000 ticks of it (10 ms apart)
  swipr record -- ./app --its --arguments     start and record it from the first instruction
  swipr convert --format pprof < app.swipr > app.pb.gz
  swipr report app.swipr                      what was hot, here on the terminal
  swipr view app.swipr                        the same in the browser

Exit codes: 0 done, 1 failed, 2 wrong usage; `record -- CMD` ends with the code of CMD.
)";

// One line of the parser's message, which may bring its own help hint.
UsageError usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    const auto unknown = app.remaining();
    if (unknown.empty())
      return UsageError{"say what to do: record, convert, report, view, list or doctor"};
    return UsageError{fmt::format(
        "unknown command or option '{}': use record, convert, report, view, list or doctor",
        unknown.front())};
  }
  std::string message = error.what();
  const auto extras = chosen.front()->remaining();
  if (!extras.empty()) {
    message = fmt::format("unexpected '{}'", extras.front());
    if (chosen.front()->get_name() == "record" && !extras.front().starts_with('-')) {
      message += "; a command to start goes behind '--', as in: swipr record -- sleep 1";
    }
  }
  std::replace(message.begin(), message.end(), '\n', ' ');
  return UsageError{chosen.front()->get_name() + ": " + message};
}

ParseResult parse(std::vector<std::string> arguments, std::vector<std::string> command,
                  bool has_separator) {
  CLI::App app("swipr: a sampling profiler for programs on Linux", "swipr");
  app.formatter(with_usage("record|convert|report|view|list|doctor [OPTION…]"));
  app.footer(std::string(kMainFooter));
  const std::string version = fmt::format("swipr {}", kBuildVersion);
  app.set_version_flag("--version", version, "Print version, commit and build type");
  app.require_subcommand(1);
  RecordParser record;
  ConvertParser convert;
  ReportParser report;
  ViewParser view;
  ListParser list;
  DoctorParser doctor;
  AnswerParser answer;
  record.add_to(app);
  convert.add_to(app);
  report.add_to(app);
  view.add_to(app);
  list.add_to(app);
  doctor.add_to(app);
  answer.add_to(app);
  std::reverse(arguments.begin(), arguments.end());  // the parser takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return Text{chosen.empty() ? app.help() : chosen.front()->help()};
  } catch (const CLI::CallForVersion&) {
    return Text{version + "\n"};
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  if (record.app->parsed()) return record.finish(std::move(command), has_separator);
  if (has_separator) return UsageError{"'-- CMD' goes with record"};
  if (convert.app->parsed()) return convert.finish();
  if (report.app->parsed()) return report.finish();
  if (view.app->parsed()) return view.finish();
  if (doctor.app->parsed()) return doctor.finish();
  if (answer.app->parsed()) return answer.finish();
  return list.finish();
}

}  // namespace

ParseResult parse_command_line(std::span<const char* const> arguments) {
  // What follows the first "--" belongs to the recorded command, whatever it looks like.
  const auto separator = std::find(arguments.begin(), arguments.end(), std::string_view("--"));
  const bool has_separator = separator != arguments.end();
  std::vector<std::string> command;
  if (has_separator) command.assign(separator + 1, arguments.end());
  return parse({arguments.begin(), separator}, std::move(command), has_separator);
}

}  // namespace swipr::options
