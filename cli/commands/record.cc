#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/names/symbolize_recording.h"
#include "cli/commands/names/symbolizer_options.h"
#include "cli/commands/output/export_recording.h"
#include "cli/commands/output/output_file.h"
#include "cli/commands/output/progress.h"
#include "cli/commands/output/terminal.h"
#include "cli/commands/record/record_json.h"
#include "cli/commands/record/record_output.h"
#include "cli/commands/record/record_summary.h"
#include "cli/export/text/sink.h"
#include "cli/session/find/targets.h"
#include "cli/session/launch/command.h"
#include "cli/session/launch/launch.h"
#include "cli/session/launch/signal_watch.h"
#include "cli/session/record_session.h"

namespace swipr::commands {

namespace {

using options::RecordOptions;
using session::RecordSession;
using session::SessionResult;
using session::SignalWatch;

session::StreamRequest request_of(const RecordOptions& options) {
  return {options.interval,
          options.ticks,
          options.duration,
          options.max_overhead_permille,
          static_cast<wire::RecordMode>(options.mode),
          options.jitter,
          !options.records_arguments,
          options.records_tasks};
}

// Closes the file, converts it and prints the summary.
host::Result<void> finish_output(const RecordOptions& options, RecordOutput& output,
                                 const SessionResult& result) {
  const std::uint64_t bytes = output.raw().bytes();
  const bool keeps_raw = output.keeps_raw_file();
  std::vector<std::string> notes;
  if (options.embeds_symbols) {
    if (auto done = output.embed_names(notes); !done) return done;
  } else if (keeps_raw) {
    fetch_unreachable_modules(result.modules);
  }
  if (auto finished = output.finish(options.format, notes); !finished) return finished;
  print_notes(notes);
  if (keeps_raw) print_notes(session::describe_warnings(result.totals));  // notes lack them
  if (options.is_quiet) return {};
  print_note(format_summary(result.totals, bytes));
  if (options.output != "-") print_note(fmt::format("wrote {}", output.name()));
  if (keeps_raw) print_note("next: " + format_next_command(output.name()));
  return {};
}

RecordReport report_of(RecordOutput& output, const SessionResult& result) {
  return {result.totals,
          output.raw().bytes(),
          result.totals.processes == 0 ? std::string() : output.name(),
          result.errors,
          result.command_cpu,
          result.unrecorded};
}

// For a full disk: what was written before is a valid recording.
Failure file_failure(RecordOutput& output, const SessionResult& result) {
  return Failure{result.file_error->message() + output.keep_raw()};
}

// --- a running process ---------------------------------------------------------------------------

host::Result<std::vector<session::Target>> connect_targets(const RecordOptions& options) {
  std::vector<session::Target> targets;
  if (options.pid || !options.socket.empty()) {
    auto target = options.pid ? session::connect_target(*options.pid)
                              : session::connect_socket(options.socket);
    if (!target) return target.error();
    targets.push_back(*std::move(target));
    return targets;
  }
  std::optional<host::Error> first_error;
  for (Pid pid : session::find_processes(options.name)) {
    auto target = session::connect_target(pid);
    if (target) {
      targets.push_back(*std::move(target));
    } else if (!first_error) {
      first_error = target.error();
    }
  }
  if (!targets.empty()) return targets;
  if (first_error) return *first_error;
  return host::Error(fmt::format(
      "no process is named '{}'; `swipr list` shows what can be recorded", options.name));
}

Outcome record_running(const RecordOptions& options, SignalWatch signals, RecordReport& report) {
  auto targets = connect_targets(options);
  if (!targets) return targets.error();
  const session::Target& first = targets->front();
  auto output = RecordOutput::open(options, first.command_name, first.pid);
  if (!output) return output.error();
  RecordSession session(output->raw(), signals, request_of(options));
  for (session::Target& target : *targets) {
    session.add(std::move(target.connection),
                fmt::format("process {} ({})", target.pid.value, target.command_name));
  }
  const SessionResult result = run_session(session, signals, true);
  report = report_of(*output, result);
  if (result.file_error) return file_failure(*output, result);
  if (result.abandoned) {
    print_note("stopped" + output->keep_raw());
    return 128 + SIGINT;
  }
  if (result.totals.processes == 0) {
    return Failure{result.errors.empty() ? "nothing was recorded" : result.errors.front()};
  }
  if (auto finished = finish_output(options, *output, result); !finished) return finished.error();
  if (result.errors.empty()) return kDone;
  print_notes(std::span(result.errors).subspan(1));
  return Failure{result.errors.front()};
}

// --- a command -----------------------------------------------------------------------------------

// Prints which frames, processes and how much CPU time of the command are not in the recording.
void print_unrecorded(const SessionResult& result) {
  for (const std::string& refused : result.totals.refused_runtimes) print_note(refused);
  print_notes(session::describe(result.unrecorded));
  if (!result.command_cpu || result.totals.processes == 0) return;
  const std::string missing = session::describe_missing_cpu(
      *result.command_cpu, result.totals.sampled_cpu + result.totals.agent_cpu);
  if (!missing.empty()) print_note(missing);
}

// A command that becomes a daemon ends early; the note says how to record the daemon.
std::string describe_followers(std::span<const session::Follower> followers) {
  constexpr std::size_t kMaxNamed = 5;
  std::string names;
  for (const session::Follower& follower : followers.first(std::min(followers.size(), kMaxNamed))) {
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", follower.pid.value, follower.name);
  }
  if (followers.size() > kMaxNamed) names += ", …";
  return fmt::format(
      "the command has ended; processes that it left running are no longer recorded: {}; to record "
      "them, use swipr record --pid {}, or --duration with the command",
      names, followers.front().pid.value);
}

// A failed recording must not look like a successful one, nor hide the exit code of the command.
Failure failure_of(std::string message, int command_code) {
  return Failure{std::move(message), command_code == 0 ? kFailed : command_code};
}

Outcome finish_command(const RecordOptions& options, RecordOutput& output,
                       const SessionResult& result) {
  const int code = session::exit_code_of(result.child_status.value_or(0));
  if (result.file_error) return file_failure(output, result);
  print_notes(result.errors);
  if (!result.followers.empty()) print_note(describe_followers(result.followers));
  print_unrecorded(result);
  if (result.totals.processes == 0)
    return failure_of(session::explain_silence(options.command.front()), code);
  if (auto finished = finish_output(options, output, result); !finished) {
    return failure_of(finished.error().message(), code);
  }
  return code;
}

Outcome record_command(const RecordOptions& options, SignalWatch signals, RecordReport& report) {
  auto prepared = session::prepare_command(options.command, signals.previous_mask());
  if (auto* failure = std::get_if<session::CommandFailure>(&prepared)) {
    return Failure{std::move(failure->message), failure->exit_code};
  }
  auto& command = std::get<session::PreparedCommand>(prepared);
  auto launch = session::Launch::prepare(command.plan);
  if (!launch) return launch.error();
  std::string_view name = options.command.front();
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  const Pid child = launch->pid();
  auto output = RecordOutput::open(options, name, child);
  if (!output) return output.error();
  RecordSession session(output->raw(), signals, request_of(options));
  session.set_child(child, command.rendezvous, options.follow);
  if (auto started = launch->run(); !started) {
    auto failure = session::launch_failure(options.command.front(), started.error());
    return Failure{std::move(failure.message), failure.exit_code};
  }
  // A progress line would mix with the output of the command on the same terminal.
  const SessionResult result = run_session(session, signals, ::isatty(STDOUT_FILENO) != 1);
  report = report_of(*output, result);
  return finish_command(options, *output, result);
}

Outcome record(const RecordOptions& options, RecordReport& report) {
  if (options.command.empty()) {
    auto signals = SignalWatch::create({SIGINT, SIGTERM, SIGHUP});
    if (!signals) return signals.error();
    return record_running(options, *std::move(signals), report);
  }
  auto signals = SignalWatch::create({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD});
  if (!signals) return signals.error();
  return record_command(options, *std::move(signals), report);
}

// The file is opened before the recording starts. It is written for failures as well.
Outcome record_with_json(const RecordOptions& options) {
  auto file = OutputFile::create(options.json);
  if (!file) return file.error();
  RecordReport report;
  Outcome outcome = record(options, report);
  exporters::Sink out(file->fd(), file->name());
  out.write(format_record_json(options, report, outcome));
  auto written = out.flush();
  if (written) written = file->commit();
  if (written) return outcome;
  if (!outcome.failed() && outcome.exit_code() == kDone) return written.error();
  print_note(written.error().message());
  return outcome;
}

}  // namespace

Outcome run_record(const RecordOptions& options) {
  if (options.output == "-" && is_binary(options.format) && ::isatty(STDOUT_FILENO) == 1) {
    return Failure{
        fmt::format(
            "record: {} is binary and standard output is a terminal; use -o FILE",
            options.format == options::Format::kRaw ? "a recording" : format_name(options.format)),
        kWrongUsage};
  }
  offer_table_folder();
  if (!options.json.empty()) return record_with_json(options);
  RecordReport report;
  return record(options, report);
}

}  // namespace swipr::commands
