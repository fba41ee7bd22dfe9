// Traced functions, and the calls that samples are in.
#include <algorithm>
#include <limits>

#include "cli/import/source_records.h"
#include "cli/import/times.h"
#include "common/core/duration_buckets.h"
#include "common/wire/traced_calls.h"

namespace swipr::importers {

namespace {

void add_calls(std::uint64_t& sum, std::uint64_t more) {
  sum = more > ~sum ? std::numeric_limits<std::uint64_t>::max() : sum + more;
}

}  // namespace

std::size_t SourceRecords::OpenCallHash::operator()(const wire::OpenCall& call) const {
  constexpr std::uint64_t kOdd = 0x9FB21C651E98DF25u;
  return static_cast<std::size_t>((call.start_ns ^ call.place << 48 ^ call.probe << 32) * kOdd >>
                                  16);
}

// The probe is less than wire::kMostProbes.
std::uint32_t SourceRecords::traced_of(std::uint64_t probe) {
  auto& all = builder_.so_far().traced;
  while (traced_.size() <= probe) {
    traced_.push_back(static_cast<std::uint32_t>(all.size()));
    all.push_back({.process = process()});
  }
  return traced_[static_cast<std::size_t>(probe)];
}

std::uint32_t SourceRecords::call_of(const wire::OpenCall& call) {
  auto& all = builder_.so_far().calls;
  const auto [place, is_new] = calls_.try_emplace(call, static_cast<std::uint32_t>(all.size()));
  if (is_new) {
    all.push_back({.function = traced_of(call.probe),
                   .begin = duration_of(start_monotonic_ns_) + duration_of(call.start_ns)});
  }
  return place->second;
}

bool SourceRecords::on_probe(const wire::RawRecord& record) {
  const auto probe = wire::decode_probe(record.payload);
  if (!probe || probe->probe >= wire::kMostProbes) return false;
  const std::uint32_t index = traced_of(probe->probe);
  std::uint32_t frame = profile::kNone;
  if (probe->address != 0) frame = resolve({.pc = probe->address, .exact = true});
  profile::TracedFunction& function = builder_.so_far().traced[index];
  if (frame != profile::kNone) function.frame = frame;
  if (probe->state == wire::ProbeState::kAttached) function.was_traced = true;
  function.problem = probe->text;
  return true;
}

bool SourceRecords::on_latency(const wire::RawRecord& record) {
  wire::LatencyDecoder latency(record.payload);
  const wire::LatencyRecord& part = latency.record();
  std::map<std::uint32_t, std::uint64_t> buckets;
  wire::BucketCount bucket;
  while (latency.take(bucket)) buckets[static_cast<std::uint32_t>(bucket.bucket)] = bucket.count;
  if (!latency.ok() || part.probe >= wire::kMostProbes) return false;
  if (part.tid != 0 || part.call_site != 0) return true;  // a part of the whole
  profile::TracedFunction& function = builder_.so_far().traced[traced_of(part.probe)];
  for (const auto& [number, count] : buckets) add_calls(function.buckets[number], count);
  function.calls_time =
      std::min(function.calls_time + duration_of(part.sum_ns), duration_of(kMaxTimeNs));
  function.longest = std::max(function.longest, duration_of(part.max_ns));
  add_calls(function.unwound, part.unwound);
  add_calls(function.untraced, part.untraced);
  function.open = part.open;
  return true;
}

bool SourceRecords::on_stack_calls(const wire::RawRecord& record) {
  const auto within = wire::decode_stack_calls(record.payload);
  if (!within) return false;
  const std::uint32_t base = stacks_.find(within->base_id);
  auto& recording = builder_.so_far();
  const profile::CallSet set{static_cast<std::uint32_t>(recording.open_calls.size()),
                             static_cast<std::uint32_t>(within->call_count)};
  for (std::size_t at = 0; at < within->call_count; ++at) {
    recording.open_calls.push_back(call_of(within->calls[at]));
  }
  recording.call_sets.push_back(set);
  const std::uint32_t labels = labels_of_stack(within->base_id);
  define_stack(within->stack_id, base, static_cast<std::uint32_t>(recording.call_sets.size() - 1));
  if (labels != profile::kNone) stack_labels_[within->stack_id] = labels;
  return true;
}

// May come before the first sample that the call has met.
bool SourceRecords::on_call_end(const wire::RawRecord& record) {
  const auto end = wire::decode_call_end(record.payload);
  if (!end) return false;
  profile::Call& call = builder_.so_far().calls[call_of(end->call)];
  call.duration = duration_of(end->duration_ns);
  call.unwound = (end->flags & wire::kCallUnwound) != 0;
  return true;
}

}  // namespace swipr::importers
