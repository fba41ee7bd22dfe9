#include "cli/trace/latency_records.h"

#include <algorithm>
#include <limits>

#include "common/wire/decoder.h"

namespace swipr::tracing {

namespace {

using std::chrono::nanoseconds;

nanoseconds limited(std::uint64_t ns) {
  return nanoseconds(std::min<std::uint64_t>(ns, std::numeric_limits<std::int64_t>::max()));
}

constexpr nanoseconds kLongestStretch = std::chrono::hours(24 * 365 * 100);

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
  if (record.tid != 0 || record.call_site != 0) return true;  // parts of all calls, by newer ones
  Probe& probe = probes_[static_cast<std::size_t>(record.probe)];
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
    probe.latest_traced = nanoseconds(0);
  }
}

}  // namespace swipr::tracing
