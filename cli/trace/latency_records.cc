#include "cli/trace/latency_records.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "common/wire/decoder.h"

namespace swipr::tracing {

namespace {

using std::chrono::nanoseconds;

nanoseconds limited(std::uint64_t ns) {
  return nanoseconds(std::min<std::uint64_t>(ns, std::numeric_limits<std::int64_t>::max()));
}

constexpr nanoseconds kLongestStretch = std::chrono::hours(24 * 365 * 100);
constexpr std::size_t kMostThreads = 10'000;

}  // namespace

namespace {

// The record has the longest call only if it is of this stretch.
bool add_thread(Probe& probe, const wire::LatencyRecord& record, Durations& part) {
  if (probe.threads.size() >= kMostThreads && !probe.threads.contains(record.tid)) return true;
  part.add_totals(
      {limited(record.sum_ns), limited(record.max_ns), record.unwound, record.untraced});
  probe.threads[record.tid].add(part);
  probe.latest_threads[record.tid].add(part);
  return true;
}

}  // namespace

void LatencyRecords::apply(std::span<const std::byte> block) {
  while (const auto record = wire::take_record(block)) {
    bool is_good = true;
    switch (static_cast<wire::RecordType>(record->type)) {
      case wire::RecordType::kProbe:
        is_good = on_probe(record->payload);
        break;
      case wire::RecordType::kLatency:
        is_good = on_latency(record->payload);
        break;
      case wire::RecordType::kSlowCall:
        is_good = on_slow_call(record->payload);
        break;
      case wire::RecordType::kProbeCounts:
        is_good = on_counts(record->payload);
        break;
      case wire::RecordType::kCallThread:
        is_good = on_thread(record->payload);
        break;
      case wire::RecordType::kSource:
        if (const auto source = wire::decode_source(record->payload); source) {
          start_realtime_ns_ = source->start_realtime_ns;
        }
        break;
      case wire::RecordType::kTick:
        has_begun_ = true;
        break;
      case wire::RecordType::kEnd:
        is_good = on_end(record->payload);
        break;
      default:
        break;
    }
    if (!is_good) ++damaged_;
  }
  if (!block.empty()) ++damaged_;
}

bool LatencyRecords::on_probe(std::span<const std::byte> payload) {
  const auto record = wire::decode_probe(payload);
  if (!record || record->probe >= probes_.size()) return false;
  Probe& probe = probes_[static_cast<std::size_t>(record->probe)];
  probe.address = {record->address};
  probe.reason = record->text;
  switch (record->state) {
    case wire::ProbeState::kAttached:
      probe.state = Probe::State::kAttached;
      break;
    case wire::ProbeState::kRefused:
      probe.state = Probe::State::kRefused;
      break;
    case wire::ProbeState::kDetached:
      probe.state = Probe::State::kDetached;
      break;
  }
  return true;
}

bool LatencyRecords::on_latency(std::span<const std::byte> payload) {
  wire::LatencyDecoder latency(payload);
  const wire::LatencyRecord& record = latency.record();
  Durations part;
  wire::BucketCount bucket;
  while (latency.take(bucket)) part.add_bucket(bucket.bucket, bucket.count);
  if (!latency.ok() || record.probe >= probes_.size()) return false;
  if (record.call_site != 0) return true;  // parts of all calls, by newer ones
  Probe& probe = probes_[static_cast<std::size_t>(record.probe)];
  if (record.tid != 0) return add_thread(probe, record, part);
  // The record has the longest call of all: of this stretch only if there was none as long before.
  const nanoseconds longest = limited(record.max_ns);
  const bool is_new = longest > probe.all.totals().max;
  part.add_totals(
      {limited(record.sum_ns), is_new ? longest : nanoseconds(0), record.unwound, record.untraced});
  probe.all.add(part);
  probe.latest.add(part);
  const nanoseconds length =
      std::min(limited(record.end_ns > record.begin_ns ? record.end_ns - record.begin_ns : 0),
               kLongestStretch);
  probe.traced = std::min(probe.traced + length, kLongestStretch);
  probe.latest_traced = std::min(probe.latest_traced + length, kLongestStretch);
  probe.open = record.open;
  return true;
}

bool LatencyRecords::on_slow_call(std::span<const std::byte> payload) {
  std::array<std::uint64_t, wire::kMostSlowFrames> callers;
  std::size_t count = 0;
  const auto record = wire::decode_slow_call(payload, callers, count);
  if (!record || record->probe >= probes_.size()) return false;
  slow_calls_.push_back({*record, {callers.begin(), callers.begin() + count}});
  return true;
}

bool LatencyRecords::on_counts(std::span<const std::byte> payload) {
  const auto record = wire::decode_probe_counts(payload);
  if (!record || record->probe >= probes_.size()) return false;
  const auto add = [](std::uint64_t& sum, std::uint64_t more) {
    sum = more > ~sum ? ~std::uint64_t{0} : sum + more;
  };
  Probe::Counts& counts = probes_[static_cast<std::size_t>(record->probe)].counts;
  counts.threshold = limited(record->threshold_ns);
  add(counts.slow, record->slow);
  add(counts.lost, record->lost);
  add(counts.elsewhere, record->elsewhere);
  counts.slow_time = std::min(
      counts.slow_time + std::min(limited(record->slow_ns), kLongestStretch), kLongestStretch);
  return true;
}

bool LatencyRecords::on_thread(std::span<const std::byte> payload) {
  const auto record = wire::decode_call_thread(payload);
  if (!record) return false;
  if (thread_names_.size() < kMostThreads) thread_names_[record->tid] = record->name;
  return true;
}

std::vector<SlowCall> LatencyRecords::take_slow_calls() {
  std::stable_sort(slow_calls_.begin(), slow_calls_.end(), [](const auto& a, const auto& b) {
    return a.record.begin_ns + a.record.duration_ns < b.record.begin_ns + b.record.duration_ns;
  });
  return std::exchange(slow_calls_, {});
}

std::string LatencyRecords::thread_name(std::uint64_t tid) const {
  const auto found = thread_names_.find(tid);
  return found == thread_names_.end() ? "" : found->second;
}

bool LatencyRecords::on_end(std::span<const std::byte> payload) {
  const auto record = wire::decode_end(payload);
  if (!record) return false;
  has_ended_ = true;
  if (record->reason == wire::EndReason::kFailed) failure_ = record->text;
  return true;
}

std::size_t LatencyRecords::count(Probe::State state) const {
  return static_cast<std::size_t>(
      std::count_if(probes_.begin(), probes_.end(),
                    [state](const Probe& probe) { return probe.state == state; }));
}

bool LatencyRecords::is_interval_complete() const {
  return std::all_of(probes_.begin(), probes_.end(), [](const Probe& probe) {
    return probe.state != Probe::State::kAttached || probe.latest_traced > nanoseconds(0);
  });
}

void LatencyRecords::take_latest() {
  for (Probe& probe : probes_) {
    probe.latest = {};
    probe.latest_threads.clear();
    probe.latest_traced = nanoseconds(0);
  }
}

}  // namespace swipr::tracing
