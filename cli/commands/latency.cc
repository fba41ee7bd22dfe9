#include <fmt/format.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <clocale>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/latency/function_finder.h"
#include "cli/commands/latency/latency_json.h"
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
using Clock = std::chrono::steady_clock;
using host::Error;
using host::Result;
using tracing::Probe;

constexpr auto kEndTime = 3s;  // for the last records, after Ctrl-C
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
  LatencyOutput(Pid pid, std::string command, std::vector<TracedFunction> functions,
                const options::LatencyOptions& options)
      : pid_(pid),
        command_(std::move(command)),
        functions_(std::move(functions)),
        states_(functions_.size(), Probe::State::kUnanswered),
        options_(options),
        page_(make_page()) {}

  // What has happened to functions since the last call.
  void tell_changes(const tracing::LatencyRecords& records) {
    for (std::size_t at = 0; at < functions_.size(); ++at) {
      const Probe& probe = records.probes()[at];
      if (probe.state == std::exchange(states_[at], probe.state)) continue;
      if (probe.state == Probe::State::kRefused) {
        note(fmt::format("{} is not traced, because {}", functions_[at].name, probe.reason));
      } else if (probe.state == Probe::State::kDetached) {
        note(fmt::format("{} is no longer traced, because {}", functions_[at].name, probe.reason));
      }
    }
  }

  void note(std::string text) {
    clear_progress();
    print_note(text);
    notes_.push_back(std::move(text));
  }

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

  Result<void> print_summary(const tracing::LatencyRecords& records) {
    clear_progress();
    const auto all = latencies(records, true);
    if (options_.json) return print(json(all, true));
    return print((intervals_ != 0 ? "\n" : "") + format_summary(all, page_));
  }

  // One line on the terminal, where nothing else is printed meanwhile.
  void show_progress(const tracing::LatencyRecords& records) {
    if (options_.interval != 0ns || terminal_columns(STDERR_FILENO) == 0) return;
    std::uint64_t calls = 0;
    for (const Probe& probe : records.probes()) calls += probe.all.calls();
    clear_progress();
    progress_ = fmt::format("{} so far; Ctrl-C ends", counted(calls, "call"));
    write_stderr(progress_);
  }

  std::uint64_t intervals() const { return intervals_; }

 private:
  void clear_progress() {
    if (progress_.empty()) return;
    write_stderr("\r" + std::string(progress_.size(), ' ') + "\r");
    progress_.clear();
  }

  std::vector<tracing::FunctionLatency> latencies(const tracing::LatencyRecords& records,
                                                  bool is_all) const {
    std::vector<tracing::FunctionLatency> result;
    for (std::size_t at = 0; at < functions_.size(); ++at) {
      const Probe& probe = records.probes()[at];
      const bool was_traced =
          probe.state == Probe::State::kAttached || probe.state == Probe::State::kDetached;
      if (!was_traced || (!is_all && probe.latest_traced == 0ns)) continue;
      result.push_back({functions_[at].name, functions_[at].file, is_all ? probe.all : probe.latest,
                        is_all ? probe.traced : probe.latest_traced, probe.open,
                        probe.state == Probe::State::kDetached ? probe.reason : ""});
    }
    return result;
  }

  std::string json(const std::vector<tracing::FunctionLatency>& functions, bool is_final) const {
    return format_latency_json({pid_, command_, is_final, functions, notes_});
  }

  static Result<void> print(const std::string& text) {
    exporters::Sink out(STDOUT_FILENO, "standard output");
    out.write(text);
    return out.flush();
  }

  Pid pid_;
  std::string command_;
  std::vector<TracedFunction> functions_;
  std::vector<Probe::State> states_;
  std::vector<std::string> notes_;
  const options::LatencyOptions& options_;
  tracing::Page page_;
  std::string progress_;
  std::size_t row_count_ = 0;  // below the last header
  std::uint64_t intervals_ = 0;
};

// Reads until the end; Ctrl-C asks for it, a second one does not wait for it.
class LatencyLoop {
 public:
  LatencyLoop(session::Target target, std::span<const TracedFunction> functions,
              LatencyOutput& output, session::SignalWatch& signals,
              const options::LatencyOptions& options)
      : output_(output),
        signals_(signals),
        options_(options),
        process_(std::move(target), functions, options, [this] { return on_records(); }) {}

  Result<void> run() {
    for (bool more = true; more && Clock::now() < deadline_;) {
      std::array<pollfd, 2> waits = {{{process_.fd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}}};
      if (::poll(waits.data(), waits.size(), timeout()) <= 0) continue;
      if (signals_.try_take() && !end()) break;
      if (waits[0].revents == 0) continue;
      const auto read = process_.read();
      if (!read) return read.error();
      more = *read;
    }
    return {};
  }

  const tracing::LatencyRecords& records() { return process_.records(); }

 private:
  int timeout() const {
    if (deadline_ == Clock::time_point::max()) return -1;
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    return static_cast<int>(std::max(rest, 0ms).count());
  }

  // Returns false if that has been asked for already.
  bool end() {
    if (deadline_ != Clock::time_point::max()) return false;
    deadline_ = Clock::now() + kEndTime;
    process_.request_end();
    return true;
  }

  Result<void> on_records() {
    tracing::LatencyRecords& records = process_.records();
    output_.tell_changes(records);
    const bool is_traced = records.count(Probe::State::kAttached) != 0;
    const bool is_ended = records.has_begun() && !is_traced;
    if (is_ended) end();  // nothing is left to be traced
    if (!records.is_interval_complete() || !is_traced || records.has_ended()) return {};
    if (options_.interval == 0ns) {
      output_.show_progress(records);
    } else if (options_.count == 0 || output_.intervals() < options_.count) {
      if (auto printed = output_.print_rows(records); !printed) return printed;
      if (output_.intervals() == options_.count) end();
    }
    records.take_latest();
    return {};
  }

  LatencyOutput& output_;
  session::SignalWatch& signals_;
  const options::LatencyOptions& options_;
  TracedProcess process_;
  Clock::time_point deadline_ = Clock::time_point::max();
};

Result<session::Target> connect(const options::LatencyOptions& options) {
  return options.pid ? session::connect_target(*options.pid) : session::connect_named(options.name);
}

}  // namespace

Outcome run_latency(const options::LatencyOptions& options) {
  auto first = connect(options);
  if (!first) return first.error();
  const Pid pid = first->pid;
  const std::string command = first->command_name;
  const auto modules = read_modules(*std::move(first));
  if (!modules) return modules.error();
  auto found = find_traced_functions(*modules, options.functions, options.debug_directories);
  if (!found) return found.error();

  // From here on Ctrl-C ends the measurement, not the command.
  auto signals = session::SignalWatch::create({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return signals.error();
  auto target = session::connect_target(pid);
  if (!target) return target.error();
  LatencyOutput output(pid, command, found->functions, options);
  for (std::string& note : found->notes) output.note(std::move(note));
  LatencyLoop loop(*std::move(target), found->functions, output, *signals, options);
  const auto ran = loop.run();
  const tracing::LatencyRecords& records = loop.records();
  if (records.count(Probe::State::kAttached) + records.count(Probe::State::kDetached) == 0) {
    if (!ran) return ran.error();
    return Error(records.count(Probe::State::kRefused) != 0 ? "no function is traced"
                                                            : "the process has ended");
  }
  if (!records.has_ended()) output.note("the process has ended, or closed the connection");
  if (records.damaged() != 0) output.note("a part of the stream was damaged: calls are missing");
  if (auto printed = output.print_summary(records); !printed) return printed.error();
  if (!ran) return ran.error();
  return kDone;
}

}  // namespace swipr::commands
