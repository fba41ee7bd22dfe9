#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/latency/caller_names.h"
#include "cli/commands/latency/slow_json.h"
#include "cli/commands/latency/trace_notes.h"
#include "cli/commands/latency/traced_process.h"
#include "cli/commands/output/terminal.h"
#include "cli/export/text/sink.h"
#include "cli/session/find/targets.h"
#include "cli/session/launch/signal_watch.h"
#include "cli/trace/argument_values.h"
#include "cli/trace/slow_text.h"
#include "common/wire/slow_calls.h"

namespace swipr::commands {

namespace {

using host::Result;
using tracing::Probe;

constexpr std::size_t kFewFrames = 8;  // inlined functions need none
constexpr std::chrono::milliseconds kInterval{500};

std::string clock_text(std::uint64_t ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const auto seconds = static_cast<std::time_t>(ns / kSecond);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return fmt::format("{:02}:{:02}:{:02}.{:06}", local.tm_hour, local.tm_min, local.tm_sec,
                     ns % kSecond / 1000);
}

class SlowerOutput {
 public:
  SlowerOutput(const TraceStart& start, const options::SlowerOptions& options)
      : start_(start),
        options_(options),
        notes_(start.found),
        names_(start.process, options.trace.debug_directories) {
    for (const TracedFunction& function : start.found.functions) {
      signatures_.push_back(names_.signature_of(function));
    }
  }

  // What the process is asked for: a line for each function. Empty: no strings.
  std::string string_places() const {
    std::string text;
    for (const auto& signature : signatures_) {
      text += signature ? tracing::format_string_places(*signature, argument_count(signature))
                        : tracing::format_string_places({}, 0);
      text += '\n';
    }
    return text.find_first_of("12345") == std::string::npos ? "" : text;
  }

  TraceNotes& notes() { return notes_; }

  Result<void> on_records(TracedProcess& process) {
    tracing::LatencyRecords& records = process.records();
    notes_.tell_changes(records);
    if (auto printed = print_calls(records); !printed) return printed;
    if (options_.count != 0 && listed_ == options_.count) process.end();
    if (records.has_begun() && records.count(Probe::State::kAttached) == 0) process.end();
    std::uint64_t calls = 0;
    for (const Probe& probe : records.probes()) calls += probe.all.calls();
    notes_.show_progress(fmt::format("{} slow of {} so far; Ctrl-C ends", with_thousands(listed_),
                                     counted(calls, "call")));
    return {};
  }

  Result<void> print_summary(const tracing::LatencyRecords& records) {
    notes_.clear_progress();
    std::vector<tracing::SlowSummary> summaries;
    for (std::size_t at = 0; at < records.probes().size(); ++at) {
      const Probe& probe = records.probes()[at];
      if (probe.state == Probe::State::kRefused) continue;
      summaries.push_back({start_.found.functions[at].name, options_.threshold, &probe});
    }
    if (options_.json) {
      return print(
          format_slow_summary_json({start_.pid, start_.command, summaries, notes_.texts()}));
    }
    return print((listed_ != 0 ? "\n" : "") + format_slow_summary(summaries));
  }

 private:
  Result<void> print_calls(tracing::LatencyRecords& records) {
    std::string text;
    for (const tracing::SlowCall& call : records.take_slow_calls()) {
      if (options_.count != 0 && listed_ == options_.count) break;
      if (listed_++ == 0 && !options_.json) text += tracing::format_slow_header();
      text += format(records, call);
    }
    if (text.empty()) return {};
    notes_.clear_progress();
    return print(text);
  }

  std::string format(const tracing::LatencyRecords& records, const tracing::SlowCall& call) {
    const wire::SlowCallRecord& record = call.record;
    const auto& signature = signatures_[static_cast<std::size_t>(record.probe)];
    const std::uint64_t end_ns = records.start_realtime_ns() + record.begin_ns + record.duration_ns;
    const std::string name = records.thread_name(record.tid);
    tracing::NamedSlowCall named{
        .time = clock_text(end_ns),
        .thread = fmt::format("{} {}", name, record.tid),
        .function = start_.found.functions[static_cast<std::size_t>(record.probe)].name,
        .record = record,
        .signature = signature ? &*signature : nullptr,
        .argument_count = argument_count(signature),
        .callers = {},
        .is_whole = (record.flags & wire::kSlowStackEnds) != 0};
    for (const std::uint64_t address : call.callers) {
      const auto& frames = names_.frames_at(address);
      named.callers.insert(named.callers.end(), frames.begin(), frames.end());
    }
    return options_.json ? format_slow_call_json(named, name, end_ns)
                         : tracing::format_slow_call(named, options_.stack);
  }

  std::size_t argument_count(const std::optional<symbolize::Signature>& signature) const {
    constexpr std::uint64_t kAll = 64;
    constexpr std::uint64_t kFewUntyped = 3;
    return static_cast<std::size_t>(options_.arguments.value_or(signature ? kAll : kFewUntyped));
  }

  static Result<void> print(const std::string& text) {
    exporters::Sink out(STDOUT_FILENO, "standard output");
    out.write(text);
    return out.flush();
  }

  const TraceStart& start_;
  const options::SlowerOptions& options_;
  TraceNotes notes_;
  CallerNames names_;
  std::vector<std::optional<symbolize::Signature>> signatures_;  // of each function
  std::uint64_t listed_ = 0;
};

session::StreamRequest request_of(const options::SlowerOptions& options,
                                  const SlowerOutput& output) {
  session::StreamRequest request;
  request.latency_interval = kInterval;
  request.slower = options.threshold;
  request.strings = output.string_places();
  request.frames = options.stack ? wire::kMostSlowFrames : kFewFrames;
  return request;
}

}  // namespace

Outcome run_slower(const options::SlowerOptions& options) {
  auto start = find_what_to_trace(options.trace);
  if (!start) return start.error();
  // From here on Ctrl-C ends the measurement, not the command.
  auto signals = session::SignalWatch::create({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return signals.error();
  auto target = session::connect_target(start->pid);
  if (!target) return target.error();
  SlowerOutput output(*start, options);
  TracedProcess process(*std::move(target), *start, options.trace, request_of(options, output),
                        [&](TracedProcess& running) { return output.on_records(running); });
  const auto ran = process.run(*signals);
  const tracing::LatencyRecords& records = process.records();
  if (auto failure = find_trace_failure(records, ran); !failure) return failure.error();
  output.notes().tell_losses(records);
  if (auto printed = output.print_summary(records); !printed) return printed.error();
  if (!ran) return ran.error();
  return kDone;
}

}  // namespace swipr::commands
