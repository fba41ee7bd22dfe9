#include "cli/options/parse.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/agent_settings.h"
#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"
#include "cli/options/suggestion.h"
#include "cli/options/version.h"

namespace swipr::options {

namespace {

constexpr std::string_view kMainFooter = R"(
Examples:
  LD_PRELOAD=$(swipr preload-path) ./app      start a program so that it can be recorded
  swipr record --pid 4711 --count 1000        record 1,000 ticks of it (10 ms apart)
  swipr record -- ./app --its --arguments     start and record it from the first instruction
  swipr convert --format pprof < app.swipr > app.pb.gz
  swipr report app.swipr                      print hot functions and threads
  swipr top --pid 4711                        what it does now, in the terminal
  swipr latency --pid 4711 handle             how long calls of a function take, in a histogram
  swipr slower --pid 4711 handle p99          its slowest calls, with arguments and callers
  swipr trace --pid 4711 handle -d 10s        record, and what its slow calls do: report --split
  swipr view app.swipr                        show the recording in the browser

Exit codes: 0 done, 1 failed, 2 wrong usage; `record -- CMD` ends with the code of CMD.
)";

constexpr std::string_view kCommandList =
    "record, convert, report, top, latency, slower, trace, view, agent, push, list or doctor";

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string similar = find_similar(word, known);
  return similar.empty() ? similar : fmt::format("; did you mean '{}'?", similar);
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names{"help", "version"};
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!each->get_group().empty()) names.push_back(each->get_name());  // skips the hidden command
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

UsageError unknown_command(const CLI::App& app, const std::string& word) {
  const std::string hint = did_you_mean(word, commands_of(app));
  return UsageError{fmt::format("unknown command or option '{}'{}", word,
                                hint.empty() ? fmt::format(": use {}", kCommandList) : hint)};
}

// Accepts "help", "help COMMAND" and "version", which new users type.
void rewrite_help(std::vector<std::string>& arguments) {
  if (arguments.empty()) return;
  if (arguments.front() == "version") arguments.front() = "--version";
  if (arguments.front() != "help") return;
  arguments.erase(arguments.begin());
  arguments.insert(arguments.empty() ? arguments.end() : arguments.begin() + 1, "--help");
}

// "record --json -o FILE": the parser would take "-o" for the file of --json, and then not know
// FILE.
std::optional<UsageError> missing_value(const CLI::App& app,
                                        const std::vector<std::string>& arguments) {
  if (arguments.empty()) return {};
  const auto commands = app.get_subcommands(
      [&](const CLI::App* each) { return each->check_name(arguments.front()); });
  if (commands.empty()) return {};
  const CLI::App* command = commands.front();
  const auto option_of = [&](const std::string& word) {
    return word.starts_with('-') ? command->get_option_no_throw(word) : nullptr;
  };
  for (std::size_t i = 1; i + 1 < arguments.size(); ++i) {
    const CLI::Option* option = option_of(arguments[i]);
    if (option == nullptr || option->get_items_expected_min() == 0) continue;
    if (option_of(arguments[i + 1]) != nullptr) {
      return UsageError{fmt::format("{}: {} needs a value, but the option {} follows",
                                    command->get_name(), arguments[i], arguments[i + 1])};
    }
    ++i;
  }
  return {};
}

// Reduces the message of the parser to one line.
UsageError usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    const auto unknown = app.remaining();
    if (unknown.empty()) return UsageError{fmt::format("a command is required: {}", kCommandList)};
    return unknown_command(app, unknown.front());
  }
  std::string message = error.what();
  const auto extras = chosen.front()->remaining();
  if (!extras.empty()) {
    message = fmt::format("unexpected '{}'", extras.front());
    if (chosen.front()->get_name() == "record" && !extras.front().starts_with('-')) {
      message += "; put a command to start after '--', as in: swipr record -- sleep 1";
    } else if (chosen.front()->get_name() == "doctor" && !extras.front().starts_with('-')) {
      message += "; put a command after '--', with --compare-unwinders";
    } else if (extras.front().starts_with("--")) {
      message += did_you_mean(extras.front().substr(0, extras.front().find('=')),
                              options_of(*chosen.front()));
    }
  }
  std::replace(message.begin(), message.end(), '\n', ' ');
  return UsageError{chosen.front()->get_name() + ": " + message};
}

ParseResult parse(std::vector<std::string> arguments, std::vector<std::string> command,
                  bool has_separator) {
  CLI::App app("swipr: a sampling profiler for programs on Linux", "swipr");
  app.formatter(
      with_usage("record|convert|report|top|latency|slower|trace|view|agent|push|list|doctor "
                 "[OPTION…]"));
  app.footer(std::string(kMainFooter));
  const std::string version = fmt::format("swipr {}", kBuildVersion);
  app.set_version_flag("--version", version, "Print version, commit and build type");
  app.require_subcommand(1);
  RecordParser record;
  ConvertParser convert;
  ReportParser report;
  TopParser top;
  LatencyParser latency;
  SlowerParser slower;
  TraceParser trace;
  ViewParser view;
  AgentParser agent;
  PushParser push;
  ListParser list;
  DoctorParser doctor;
  PreloadPathParser preload_path;
  InstallPreloadParser install_preload;
  AnswerParser answer;
  record.add_to(app);
  convert.add_to(app);
  report.add_to(app);
  top.add_to(app);
  latency.add_to(app);
  slower.add_to(app);
  trace.add_to(app);
  view.add_to(app);
  agent.add_to(app);
  push.add_to(app);
  list.add_to(app);
  doctor.add_to(app);
  preload_path.add_to(app);
  install_preload.add_to(app);
  answer.add_to(app);
  rewrite_help(arguments);
  if (!arguments.empty() && arguments.front() == "agent") {
    auto settings = with_settings({arguments.begin() + 1, arguments.end()}, ::environ);
    if (!settings) return UsageError{"agent: " + settings.error().message()};
    arguments.resize(1);
    arguments.insert(arguments.end(), settings->begin(), settings->end());
  }
  if (auto missing = missing_value(app, arguments)) return *std::move(missing);
  std::reverse(arguments.begin(), arguments.end());  // the parser reads them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    if (const auto rest = app.remaining(); chosen.empty() && !rest.empty()) {
      return unknown_command(app, rest.front());
    }
    return Text{chosen.empty() ? app.help() : chosen.front()->help()};
  } catch (const CLI::CallForVersion&) {
    return Text{version + "\n"};
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  if (record.app->parsed()) return record.finish(std::move(command), has_separator);
  if (doctor.app->parsed()) return doctor.finish(std::move(command), has_separator);
  if (view.app->parsed()) return view.finish(std::move(command), has_separator);
  if (has_separator) {
    return UsageError{
        "'-- CMD' is valid only with record, view --live and doctor --compare-unwinders"};
  }
  if (convert.app->parsed()) return convert.finish();
  if (report.app->parsed()) return report.finish();
  if (top.app->parsed()) return top.finish();
  if (latency.app->parsed()) return latency.finish();
  if (slower.app->parsed()) return slower.finish();
  if (trace.app->parsed()) return trace.finish();
  if (agent.app->parsed()) return agent.finish();
  if (push.app->parsed()) return push.finish();
  if (preload_path.app->parsed()) return preload_path.finish();
  if (install_preload.app->parsed()) return install_preload.finish();
  if (answer.app->parsed()) return answer.finish();
  return list.finish();
}

}  // namespace

ParseResult parse_command_line(std::span<const char* const> arguments) {
  // All arguments after the first "--" belong to the recorded command.
  const auto separator = std::find(arguments.begin(), arguments.end(), std::string_view("--"));
  const bool has_separator = separator != arguments.end();
  std::vector<std::string> command;
  if (has_separator) command.assign(separator + 1, arguments.end());
  return parse({arguments.begin(), separator}, std::move(command), has_separator);
}

}  // namespace swipr::options
