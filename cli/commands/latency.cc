#include <fmt/format.h>
#include <langinfo.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <clocale>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/latency/latency_json.h"
#include "cli/commands/latency/trace_notes.h"
#include "cli/commands/latency/traced_process.h"
#include "cli/commands/output/terminal.h"
#include "cli/export/text/sink.h"
#include "cli/session/find/targets.h"
#include "cli/session/launch/signal_watch.h"
#include "cli/trace/latency_text.h"
#include "common/host/text/duration.h"

namespace swipr::commands {

namespace {

using namespace std::chrono_literals;
using host::Result;
using tracing::Probe;

constexpr std::size_t kPipeColumns = 120;
constexpr std::size_t kMinColumns = 60;
constexpr std::size_t kRowsPerHeader = 20;

tracing::Page make_page() {
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  std::setlocale(LC_CTYPE, "");
  return {columns == 0 ? kPipeColumns : std::max(columns, kMinColumns),
          std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0};
}

std::string clock_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

// The rows, the summary, and what is said about functions on stderr.
class LatencyOutput {
 public:
  LatencyOutput(const TraceStart& start, const options::LatencyOptions& options)
      : start_(start), options_(options), notes_(start.found), page_(make_page()) {}

  TraceNotes& notes() { return notes_; }

  Result<void> on_records(TracedProcess& process) {
    tracing::LatencyRecords& records = process.records();
    notes_.tell_changes(records);
    const bool is_traced = records.count(Probe::State::kAttached) != 0;
    if (records.has_begun() && !is_traced) process.end();  // nothing is left to be traced
    if (!records.is_interval_complete() || !is_traced || records.has_ended()) return {};
    if (options_.interval == 0ns) {
      show_progress(records);
    } else if (options_.count == 0 || intervals_ < options_.count) {
      if (auto printed = print_rows(records); !printed) return printed;
      if (intervals_ == options_.count) process.end();
    }
    records.take_latest();
    return {};
  }

  Result<void> print_summary(const tracing::LatencyRecords& records) {
    notes_.clear_progress();
    const auto all = latencies(records, true);
    if (options_.json) return print(json(all, true));
    return print((intervals_ != 0 ? "\n" : "") + format_summary(all, page_));
  }

 private:
  Result<void> print_rows(const tracing::LatencyRecords& records) {
    ++intervals_;
    const auto rows = latencies(records, false);
    if (rows.empty()) return {};
    if (options_.json) return print(json(rows, false));
    std::string text;
    if (row_count_ == 0) text = format_table_header(page_);
    row_count_ = row_count_ + rows.size() >= kRowsPerHeader ? 0 : row_count_ + rows.size();
    return print(text + format_table_rows(clock_text(), rows, page_));
  }

  // One line on the terminal, where nothing else is printed meanwhile.
  void show_progress(const tracing::LatencyRecords& records) {
    std::uint64_t calls = 0;
    for (const Probe& probe : records.probes()) calls += probe.all.calls();
    notes_.show_progress(fmt::format("{} so far; Ctrl-C ends", counted(calls, "call")));
  }

  std::vector<tracing::FunctionLatency> latencies(const tracing::LatencyRecords& records,
                                                  bool is_all) const {
    const std::vector<TracedFunction>& functions = start_.found.functions;
    std::vector<tracing::FunctionLatency> result;
    for (std::size_t at = 0; at < functions.size(); ++at) {
      const Probe& probe = records.probes()[at];
      const bool was_traced =
          probe.state == Probe::State::kAttached || probe.state == Probe::State::kDetached;
      if (!was_traced || (!is_all && probe.latest_traced == 0ns)) continue;
      result.push_back({functions[at].name, functions[at].file, is_all ? probe.all : probe.latest,
                        is_all ? probe.traced : probe.latest_traced, probe.open,
                        probe.state == Probe::State::kDetached ? probe.reason : "",
                        probe.counts.elsewhere, threads_of(records, probe, is_all)});
    }
    return result;
  }

  // Those with the most calls first.
  static std::vector<tracing::FunctionLatency> threads_of(const tracing::LatencyRecords& records,
                                                          const Probe& probe, bool is_all) {
    std::vector<tracing::FunctionLatency> result;
    for (const auto& [tid, durations] : is_all ? probe.threads : probe.latest_threads) {
      tracing::FunctionLatency thread;
      thread.name = fmt::format("  {} {}", records.thread_name(tid), tid);
      thread.tid = tid;
      thread.durations = durations;
      thread.traced = is_all ? probe.traced : probe.latest_traced;
      result.push_back(std::move(thread));
    }
    std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) {
      return a.durations.calls() > b.durations.calls();
    });
    return result;
  }

  std::string json(const std::vector<tracing::FunctionLatency>& functions, bool is_final) const {
    return format_latency_json({start_.pid, start_.command, is_final, functions, notes_.texts()});
  }

  static Result<void> print(const std::string& text) {
    exporters::Sink out(STDOUT_FILENO, "standard output");
    out.write(text);
    return out.flush();
  }

  const TraceStart& start_;
  const options::LatencyOptions& options_;
  TraceNotes notes_;
  tracing::Page page_;
  std::size_t row_count_ = 0;  // below the last header
  std::uint64_t intervals_ = 0;
};

session::StreamRequest request_of(const options::LatencyOptions& options) {
  session::StreamRequest request;
  if (options.interval != 0ns) request.latency_interval = options.interval;
  request.threads = options.threads;
  return request;
}

}  // namespace

Outcome run_latency(const options::LatencyOptions& options) {
  auto start = find_what_to_trace(options.trace);
  if (!start) return start.error();
  // From here on Ctrl-C ends the measurement, not the command.
  auto signals = session::SignalWatch::create({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return signals.error();
  auto target = session::connect_target(start->pid);
  if (!target) return target.error();
  LatencyOutput output(*start, options);
  TracedProcess process(*std::move(target), *start, options.trace, request_of(options),
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
