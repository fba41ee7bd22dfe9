#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/latency/traced_process.h"
#include "cli/commands/names/symbolize_recording.h"
#include "cli/commands/names/symbolizer_options.h"
#include "cli/commands/output/export_recording.h"
#include "cli/commands/output/progress.h"
#include "cli/commands/output/terminal.h"
#include "cli/commands/record/record_output.h"
#include "cli/commands/record/record_summary.h"
#include "cli/session/find/targets.h"
#include "cli/session/launch/signal_watch.h"
#include "cli/session/record_session.h"
#include "cli/trace/durations.h"
#include "common/host/text/duration.h"

namespace swipr::commands {

namespace {

using session::SessionResult;

options::RecordOptions record_options(const options::TraceRecordOptions& options) {
  options::RecordOptions record;
  record.output = options.output;
  record.embeds_symbols = options.embeds_symbols;
  return record;
}

session::StreamRequest request_of(const options::TraceRecordOptions& options,
                                  const TraceStart& start) {
  session::StreamRequest request;
  request.interval = options.interval;
  request.duration = options.trace.duration;
  request.max_overhead_permille = options.trace.max_overhead_permille;
  add_traced_functions(request, start.found);
  return request;
}

std::string describe(const profile::TracedFunction& function, const std::string& name,
                     std::size_t met) {
  tracing::Durations durations;
  for (const auto& [bucket, calls] : function.buckets) durations.add_bucket(bucket, calls);
  durations.add_totals({.sum = function.calls_time, .max = function.longest});
  std::string text = fmt::format("{}: {}", name, counted(durations.calls(), "call"));
  const char* separator = ", ";
  for (const tracing::QuantileName& each : tracing::kQuantiles) {
    const auto quantile = durations.quantile(each.share);
    if (!quantile || std::string_view(each.name) == "p90") continue;
    text += fmt::format("{}{} {}", std::exchange(separator, ", "), each.name,
                        host::format_duration(*quantile));
  }
  if (durations.calls() != 0) {
    text += fmt::format(", max {}", host::format_duration(function.longest));
  }
  text += fmt::format("; samples met {} of them", with_thousands(met));
  if (function.open != 0) {
    text += fmt::format("; {} had not returned", with_thousands(function.open));
  }
  return text;
}

// What was traced, in the order of the request. False: nothing.
bool print_functions(const profile::Recording& recording, const FoundFunctions& found) {
  std::vector<std::size_t> met(recording.traced.size());
  for (const profile::Call& call : recording.calls) ++met[call.function];
  bool any = false;
  for (std::size_t at = 0; at < recording.traced.size() && at < found.functions.size(); ++at) {
    const profile::TracedFunction& function = recording.traced[at];
    const std::string& name = found.functions[at].name;
    if (function.was_traced) print_note(describe(function, name, met[at]));
    if (!function.problem.empty()) {
      print_note(fmt::format("{}{} traced, because {}", name,
                             function.was_traced ? " is no longer" : " is not", function.problem));
    }
    any = any || function.was_traced;
  }
  return any;
}

void print_losses(const profile::Recording& recording) {
  std::uint64_t lost = 0;
  for (const profile::Process& process : recording.processes) {
    const auto found = process.totals.find(std::string(wire::counter::kCallEndsLost));
    if (found != process.totals.end()) lost += found->second;
  }
  if (lost == 0) return;
  print_note(fmt::format("{} of calls that samples have met were lost: too many at once",
                         counted(lost, "end")));
}

std::string next_command(const std::string& file, const FoundFunctions& found) {
  const std::string function =
      found.functions.size() == 1 ? std::string() : found.functions.front().name + ":";
  return fmt::format("swipr report --split {} {}", shell_quoted(function + "p95"),
                     shell_quoted(file));
}

Outcome finish(const options::TraceRecordOptions& options, RecordOutput& output,
               const TraceStart& start, const SessionResult& result) {
  if (result.file_error) return Failure{result.file_error->message() + output.keep_raw()};
  if (result.totals.processes == 0) {
    return Failure{result.errors.empty() ? "nothing was recorded" : result.errors.front()};
  }
  const std::uint64_t bytes = output.raw().bytes();
  std::vector<std::string> notes;
  if (options.embeds_symbols) {
    if (auto done = output.embed_names(notes); !done) return done.error();
  } else {
    fetch_unreachable_modules(result.modules);
  }
  if (auto finished = output.finish(options::Format::kRaw, notes); !finished) {
    return finished.error();
  }
  print_notes(notes);
  print_notes(result.errors);
  const auto recording = load_recording(output.name());
  if (!recording) return recording.error();
  const bool any = print_functions(*recording, start.found);
  print_losses(*recording);
  print_note(format_summary(result.totals, bytes));
  print_note(fmt::format("wrote {}", output.name()));
  if (!any) return Failure{"no function was traced"};
  print_note("next: " + next_command(output.name(), start.found));
  return kDone;
}

}  // namespace

Outcome run_trace(const options::TraceRecordOptions& options) {
  offer_table_folder();
  auto start = find_what_to_trace(options.trace);
  if (!start) return start.error();
  print_notes(start->found.notes);
  auto signals = session::SignalWatch::create({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return signals.error();
  auto target = session::connect_target(start->pid);
  if (!target) return target.error();
  auto output = RecordOutput::open(record_options(options), start->command, start->pid);
  if (!output) return output.error();
  session::RecordSession session(output->raw(), *signals, request_of(options, *start));
  session.add(std::move(target->connection),
              fmt::format("process {} ({})", start->pid.value, start->command));
  return finish(options, *output, *start, run_session(session, *signals, true));
}

}  // namespace swipr::commands
