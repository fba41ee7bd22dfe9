#include "cli/commands/agent/agent_loop.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands/agent/slice_export.h"
#include "cli/commands/output/output_file.h"
#include "cli/export/text/sink.h"
#include "cli/fleet/schedule.h"
#include "common/host/proc.h"
#include "common/host/service_manager.h"
#include "common/host/text/duration.h"

namespace swipr::commands {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr auto kBetweenLooks = 1s;
// Every tick of every process would wake the agent. In this time 200 threads send 10 KB at 100 Hz,
// of 200 KB that a socket holds.
constexpr auto kBetweenReads = 100ms;
constexpr auto kDrain = 1s;  // for the last data of all processes
// At the end. With kDrain and kLastPushes within the 30 s that Kubernetes waits before it kills.
constexpr auto kRunningExport = 10s;
constexpr auto kAllExports = 22s;
constexpr auto kLastPushes = 5s;      // what is not sent stays in the spool
constexpr auto kLeastPatience = 60s;  // with a worker

nanoseconds now_realtime() { return std::chrono::system_clock::now().time_since_epoch(); }
nanoseconds now_monotonic() { return std::chrono::steady_clock::now().time_since_epoch(); }

std::string counted_processes(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "process" : "processes");
}

double percent(nanoseconds part, nanoseconds whole) {
  if (whole.count() <= 0) return 100;
  return 100 * static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

}  // namespace

AgentLoop::AgentLoop(const options::AgentOptions& options, AgentLog& log,
                     session::SignalWatch& signals)
    : options_(options),
      log_(log),
      signals_(signals),
      collector_(options, log, counters_),
      pushers_(log, counters_) {}

AgentLoop::End AgentLoop::run() {
  collector_.look();
  log_.say(fmt::format("records {}, slices of {}", counted_processes(counters_.targets),
                       host::format_duration(options_.slice)));
  begin_slice(now_monotonic());
  host::tell_service_manager("READY=1");
  for (std::uint64_t number = 1; !is_stopping_; ++number) {
    auto next_look = Clock::now() + kBetweenLooks;
    while (!is_stopping_ && Clock::now() < slice_end_) {
      if (!wait_until(std::min(slice_end_, next_look))) continue;
      if (Clock::now() < next_look) continue;
      next_look = Clock::now() + kBetweenLooks;
      host::tell_service_manager("WATCHDOG=1");
      collector_.look();
      if (collector_.has_lost_all() || !has_controller()) is_stopping_ = true;
    }
    if (options_.slices != 0 && number == options_.slices) is_stopping_ = true;
    if (!is_stopping_) end_slice(false);
  }
  finish();
  if (is_restarting_) return End::kRestart;
  return exported_ != 0 ? End::kDone : End::kFailed;
}

// Returns false if something may have happened before that time.
bool AgentLoop::wait_until(Clock::time_point time) {
  const bool reads = Clock::now() >= next_read_;
  std::vector<pollfd> waits = descriptors(reads);
  const auto end = reads ? time : std::min(time, next_read_);
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
  const int count =
      ::poll(waits.data(), waits.size(), static_cast<int>(std::max<std::int64_t>(rest.count(), 0)));
  if (count == 0) return end == time;
  if (reads) next_read_ = Clock::now() + kBetweenReads;
  on_signals();
  collector_.on_ready(waits);
  pushers_.read();
  return false;
}

std::vector<pollfd> AgentLoop::descriptors(bool streams) const {
  std::vector<pollfd> waits = {{signals_.fd(), POLLIN, 0}};
  collector_.add_descriptors(waits, streams);
  pushers_.add_descriptors(waits);
  return waits;
}

void AgentLoop::on_signals() {
  while (const auto caught = signals_.try_take()) {
    if (caught->number == SIGCHLD) {
      take_worker();
      continue;
    }
    is_stopping_ = true;
    is_restarting_ = caught->number == SIGHUP;
  }
}

// With a number of slices the first one begins now; else they are aligned to the clock.
nanoseconds AgentLoop::slice_length() const {
  if (options_.slices != 0) return options_.slice;
  return fleet::end_of_slice(now_realtime(), options_.slice) - now_realtime();
}

void AgentLoop::begin_slice(nanoseconds begin) {
  span_ = {now_realtime() - (now_monotonic() - begin), begin, nanoseconds(0)};
  slice_end_ = Clock::now() + slice_length();
}

// While the worker of the slice before is busy, this one goes on: nothing is lost.
void AgentLoop::end_slice(bool is_last) {
  if (worker_) take_worker();
  if (worker_ && worker_->age() > std::max<nanoseconds>(kLeastPatience, options_.slice)) {
    worker_->kill();
  }
  if (worker_ && !is_last) {
    ++counters_.slices_extended;
    slice_end_ = Clock::now() + slice_length();
    return;
  }
  collector_.look();
  span_.duration = now_monotonic() - span_.monotonic;
  const SliceJob job = collector_.cut_slice(span_, is_last);
  nanoseconds recorded{0};
  nanoseconds known{0};
  for (const SliceTarget& target : job.targets) {
    recorded += target.recorded;
    known += target.recorded + target.unrecorded.sum();
  }
  ++counters_.slices;
  log_.say(fmt::format("slice {}: {}, {} of CPU time, {:.1f} % of it with stacks", counters_.slices,
                       counted_processes(job.targets.size()), host::format_duration(known),
                       percent(recorded, known)));
  const auto stores = pushers_.stores();
  auto worker = Worker::start([&] { return export_slice(job, options_, stores); });
  if (worker) {
    worker_.emplace(*std::move(worker));
  } else {
    ++counters_.slices_lost;
    log_.say(worker.error().message());
  }
  collector_.begin_slice(span_.duration);
  begin_slice(span_.monotonic + span_.duration);  // without a gap, whatever this took
}

void AgentLoop::take_worker() {
  if (!worker_) return;
  const auto result = worker_->try_finish();
  if (!result) return;
  worker_.reset();
  report(*result);
  pushers_.notify();
  write_metrics();
}

void AgentLoop::report(const WorkerResult& result) {
  counters_.export_cpu += result.cpu;
  counters_.export_peak_bytes = std::max(counters_.export_peak_bytes, result.peak_bytes);
  if (result.failure.empty()) {
    ++exported_;
  } else {
    ++counters_.slices_lost;
    log_.say(fmt::format("slice {} is lost, its export ended early: {}", counters_.slices,
                         result.failure));
  }
  for (const std::string& line : result.lines) {
    if (line.starts_with("error ")) ++counters_.errors;
    pushers_.on_line(line);
    if (!line.starts_with("wrote ")) {
      log_.say(fmt::format("slice {}: {}", counters_.slices, line));
    }
  }
}

void AgentLoop::finish() {
  // A restart is a reload for the manager: the process stays.
  if (!is_restarting_) host::tell_service_manager("STOPPING=1");
  collector_.request_end();
  const auto drained = Clock::now() + kDrain;
  while (collector_.is_recording() && Clock::now() < drained) wait_until(drained);
  const auto wait_for_worker = [this](Clock::time_point exported) {
    while (worker_ && Clock::now() < exported) wait_until(exported);
    if (worker_) worker_->kill();
    while (worker_) wait_until(Clock::now() + 1s);
  };
  const auto begin = Clock::now();
  wait_for_worker(begin + kRunningExport);
  end_slice(true);
  wait_for_worker(begin + kAllExports);
  pushers_.finish();
  const auto pushed = Clock::now() + kLastPushes;
  while (!pushers_.have_ended() && Clock::now() < pushed) {
    wait_until(std::min(pushed, Clock::now() + 100ms));
  }
  pushers_.read();
  write_metrics();
}

void AgentLoop::write_metrics() {
  if (options_.metrics_file.empty()) return;
  counters_.agent_cpu = nanoseconds(std::int64_t{std::clock()} * (1'000'000'000 / CLOCKS_PER_SEC));
  const auto status = host::read_file("/proc/self/statm");
  if (status) {
    const std::string text = status->substr(std::min(status->find(' '), status->size()));
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    counters_.agent_bytes = std::strtoull(text.c_str(), nullptr, 10) * page;
  }
  auto file = OutputFile::create(options_.metrics_file);
  host::Result<void> written = file ? host::Result<void>() : file.error();
  if (file) {
    exporters::Sink sink(file->fd(), options_.metrics_file);
    sink.write(format_metrics(counters_));
    written = sink.flush();
    if (written) written = file->commit();
  }
  if (!written) log_.say(written.error().message());
}

bool AgentLoop::has_controller() const {
  return !options_.controller || host::process_exists(*options_.controller);
}

}  // namespace swipr::commands
