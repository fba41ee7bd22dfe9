#include "cli/commands/live/followed_calls.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "cli/session/find/targets.h"

namespace swipr::commands {

namespace {

using namespace std::chrono_literals;
using host::Result;
using tracing::Probe;

std::vector<live::CallHistory::Function> functions_of(const TraceStart& start) {
  std::vector<live::CallHistory::Function> functions;
  for (const TracedFunction& function : start.found.functions) {
    functions.push_back({.name = function.name, .is_traced = false, .reason = {}});
  }
  return functions;
}

}  // namespace

FollowedCalls::FollowedCalls(TraceStart start)
    : start_(std::move(start)), notes_(start_.found), history_(functions_of(start_)) {}

Result<std::unique_ptr<FollowedCalls>> FollowedCalls::begin(const options::TraceOptions& options) {
  auto start = find_what_to_trace(options);
  if (!start) return start.error();
  auto target = session::connect_target(start->pid);
  if (!target) return target.error();
  std::unique_ptr<FollowedCalls> calls(new FollowedCalls(*std::move(start)));
  calls->process_ = std::make_unique<TracedProcess>(
      *std::move(target), calls->start_, options, session::StreamRequest{},
      [at = calls.get()](TracedProcess& process) { return at->on_records(process); });
  return calls;
}

std::string FollowedCalls::probes() const { return list_probes(start_.found); }

Result<bool> FollowedCalls::read(std::chrono::nanoseconds now) {
  // The second that most of the time since the last records belongs to.
  second_ = static_cast<std::uint32_t>(std::max(now - 500ms, 0ns) / 1s);
  return process_->read();
}

Result<void> FollowedCalls::on_records(TracedProcess& process) {
  tracing::LatencyRecords& records = process.records();
  notes_.tell_changes(records);
  if (records.has_begun() && records.count(Probe::State::kAttached) == 0) process.end();
  const bool is_complete = records.is_interval_complete();
  for (std::uint32_t function = 0; function < records.probes().size(); ++function) {
    const Probe& probe = records.probes()[function];
    history_.set_traced(function, probe.state == Probe::State::kAttached, probe.reason);
    if (!is_complete) continue;
    const auto traced = static_cast<std::uint64_t>(probe.latest_traced.count());
    if (traced != 0) history_.add({second_, function, live::kTracedTime, traced});
    const std::span<const std::uint64_t> buckets = probe.latest.buckets();
    for (std::uint32_t bucket = 0; bucket < buckets.size(); ++bucket) {
      if (buckets[bucket] != 0) history_.add({second_, function, bucket, buckets[bucket]});
    }
  }
  if (is_complete) records.take_latest();
  return {};
}

}  // namespace swipr::commands
