// Parses the command line, runs the command, prints errors and sets the exit code.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <variant>

#include "cli/commands/commands.h"
#include "cli/commands/output/terminal.h"
#include "cli/options/parse.h"
#include "common/host/caller_signals.h"

namespace {

using namespace swipr;

template <typename... Cases>
struct Visitor : Cases... {
  using Cases::operator()...;
};
// Implicit since C++20, but not in clang before 17.
template <typename... Cases>
Visitor(Cases...) -> Visitor<Cases...>;

commands::Outcome run(const options::Command& command) {
  return std::visit(
      Visitor{[](const options::RecordOptions& chosen) { return commands::run_record(chosen); },
              [](const options::ConvertOptions& chosen) { return commands::run_convert(chosen); },
              [](const options::ReportOptions& chosen) { return commands::run_report(chosen); },
              [](const options::TopOptions& chosen) { return commands::run_top(chosen); },
              [](const options::LatencyOptions& chosen) { return commands::run_latency(chosen); },
              [](const options::SlowerOptions& chosen) { return commands::run_slower(chosen); },
              [](const options::TraceRecordOptions& chosen) { return commands::run_trace(chosen); },
              [](const options::ViewOptions& chosen) { return commands::run_view(chosen); },
              [](const options::AgentOptions& chosen) { return commands::run_agent(chosen); },
              [](const options::PushOptions& chosen) { return commands::run_push(chosen); },
              [](const options::ListOptions& chosen) { return commands::run_list(chosen); },
              [](const options::DoctorOptions& chosen) { return commands::run_doctor(chosen); },
              [](const options::PreloadPathOptions&) { return commands::run_preload_path(); },
              [](const options::InstallPreloadOptions& chosen) {
                return commands::run_install_preload(chosen);
              },
              [](const options::AnswerOptions& chosen) { return commands::run_answer(chosen); }},
      command);
}

int run_arguments(std::span<const char* const> arguments) {
  const auto parsed = options::parse_command_line(arguments);
  if (const auto* text = std::get_if<options::Text>(&parsed)) {
    std::fwrite(text->text.data(), 1, text->text.size(), stdout);
    return std::fflush(stdout) == 0 ? commands::kDone : commands::kFailed;
  }
  if (const auto* wrong = std::get_if<options::UsageError>(&parsed)) {
    commands::print_note(wrong->message + " (see swipr --help)");
    return commands::kWrongUsage;
  }
  const commands::Outcome outcome = run(std::get<options::Command>(parsed));
  if (outcome.failed() && !outcome.message().empty()) commands::print_note(outcome.message());
  return outcome.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  host::take_signals_from_caller();
  try {
    return run_arguments({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const std::bad_alloc&) {
    commands::print_note("out of memory");
  } catch (const std::exception& error) {
    commands::print_note(fmt::format("internal error: {}", error.what()));
  }
  return commands::kFailed;
}
