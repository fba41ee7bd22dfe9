#include "cli/commands/latency/traced_process.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/import/swipr_reader.h"

namespace swipr::commands {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using host::Error;
using host::Result;
using tracing::Probe;

constexpr auto kAnswerTime = 10s;
// After Ctrl-C: without a record, and for all of the last records.
constexpr auto kSilentTime = 3s;
constexpr auto kEndTime = 10s;
constexpr std::chrono::nanoseconds kLongestTick = 100ms;
constexpr std::chrono::nanoseconds kShortestTick = 1ms;

std::string place_line(ImageAddr address, const std::string& build_id, const std::string& path) {
  return fmt::format("0x{:x} {} {}\n", address.value, build_id.empty() ? "path" : "build-id",
                     build_id.empty() ? path : build_id);
}

session::StreamRequest complete(session::StreamRequest request, const TraceStart& start,
                                const options::TraceOptions& options) {
  // Durations arrive at ticks, so intervals are as exact as these.
  request.interval = std::clamp(request.latency_interval / 20, kShortestTick, kLongestTick);
  request.duration = options.duration;
  request.max_overhead_permille = options.max_overhead_permille;
  request.jitter = false;
  request.sampling = false;
  add_traced_functions(request, start.found);
  return request;
}

Result<session::Target> connect(const options::TraceOptions& options) {
  return options.pid ? session::connect_target(*options.pid) : session::connect_named(options.name);
}

int milliseconds_until(Clock::time_point deadline) {
  if (deadline == Clock::time_point::max()) return -1;
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::max(rest, 0ms).count());
}

// Records one tick.
Result<profile::Recording> read_modules(session::Target target) {
  importers::SwiprReader reader;
  session::StreamRequest request;
  request.ticks = 1;
  request.interval = kShortestTick;
  request.sampling = false;
  session::LiveStream stream(std::move(target.connection), request,
                             [&reader](std::span<const std::byte> bytes) { reader.feed(bytes); });
  const auto deadline = Clock::now() + kAnswerTime;
  while (true) {
    pollfd wait{stream.fd(), POLLIN, 0};
    if (Clock::now() >= deadline) return Error("the process does not answer");
    if (::poll(&wait, 1, milliseconds_until(deadline)) <= 0) continue;
    const auto more = stream.read();
    if (!more) return more.error();
    if (!*more) return reader.finish();
  }
}

}  // namespace

std::string list_probes(const FoundFunctions& found) {
  std::string probes;
  for (const TracedFunction& function : found.functions) {
    probes += place_line(function.begin, function.build_id, function.path);
  }
  return probes;
}

void add_traced_functions(session::StreamRequest& request, const FoundFunctions& found) {
  request.probes = list_probes(found);
  for (const CallSite& site : found.sites) {
    request.sites += place_line(site.return_address, site.build_id, site.path);
  }
}

Result<TraceStart> find_what_to_trace(const options::TraceOptions& options) {
  auto target = connect(options);
  if (!target) return target.error();
  TraceStart start;
  start.pid = target->pid;
  start.command = target->command_name;
  auto process = read_modules(*std::move(target));
  if (!process) return process.error();
  start.process = *std::move(process);
  auto found = find_traced_functions(start.process, options.functions, options.site,
                                     options.debug_directories);
  if (!found) return found.error();
  start.found = *std::move(found);
  return start;
}

TracedProcess::TracedProcess(session::Target target, const TraceStart& start,
                             const options::TraceOptions& options, session::StreamRequest request,
                             OnRecords on_records)
    : records_(start.found.functions.size()),
      on_records_(std::move(on_records)),
      blocks_([this](std::span<const std::byte> payload) {
        records_.apply(payload);
        return on_records_(*this);
      }) {
  stream_ = std::make_unique<session::LiveStream>(std::move(target.connection),
                                                  complete(std::move(request), start, options),
                                                  [this](std::span<const std::byte> bytes) {
                                                    if (fed_) fed_ = blocks_.feed(bytes);
                                                  });
}

Result<bool> TracedProcess::read() {
  auto more = stream_->read();
  if (!fed_) return fed_.error();
  if (!more) return more;
  if (!records_.failure().empty()) return Error("tracing ended early: " + records_.failure());
  if (records_.has_begun() && records_.count(Probe::State::kUnanswered) != 0) {
    return Error("the library in the process cannot trace functions: it is an older one");
  }
  return more;
}

Result<void> TracedProcess::run(session::SignalWatch& signals) {
  for (bool more = true; more;) {
    if (Clock::now() >= deadline_) {
      return Error("the process does not end the measurement: its last calls are missing");
    }
    std::array<pollfd, 2> waits = {{{stream_->fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), milliseconds_until(deadline_)) <= 0) continue;
    if (signals.try_take() && !end()) break;
    if (waits[0].revents == 0) continue;
    const auto read_more = read();
    if (!read_more) return read_more.error();
    more = *read_more;
    if (has_asked_for_end()) deadline_ = std::min(Clock::now() + kSilentTime, last_deadline_);
  }
  return {};
}

bool TracedProcess::end() {
  if (has_asked_for_end()) return false;
  deadline_ = Clock::now() + kSilentTime;
  last_deadline_ = Clock::now() + kEndTime;
  stream_->request_end();
  return true;
}

Result<void> find_trace_failure(const tracing::LatencyRecords& records, const Result<void>& ran) {
  if (records.count(Probe::State::kAttached) + records.count(Probe::State::kDetached) != 0) {
    return {};
  }
  if (!ran) return ran.error();
  return Error(records.count(Probe::State::kRefused) != 0 ? "no function is traced"
                                                          : "the process has ended");
}

}  // namespace swipr::commands
