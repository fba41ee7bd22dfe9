// What a ProbeStream knows of one function. Only for its own files.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/core/quantile_text.h"
#include "common/wire/slow_calls.h"
#include "preload/agent/record/stream/probe_stream.h"
#include "preload/trace/calls/pool.h"

namespace swipr::agent {

struct ProbeStream::Probe {
  bool is_attached;
  std::uint32_t number;  // in the table
  std::uint64_t address;
  std::uint64_t size_bytes;
  Moment written;                   // the stream has the calls until then
  std::uint64_t seen_calls;         // at the last check
  std::uint64_t rate;               // calls per second until then
  std::uint64_t seen_cost_ns;       // of all calls, at the last check
  std::uint64_t cost_ns;            // per second
  std::uint64_t unwritten;          // slow calls for which the stream had no room
  std::uint64_t first_max_ns;       // of calls before it was attached
  std::uint64_t longest_bucket_ns;  // where a call of this recording ended
  std::uint64_t threshold_ns;       // 0: not known yet
  trace::Histogram counted;         // what the stream has, and what was there before
  trace::Histogram first;           // what was there before
  trace::Histogram* threads;        // by place: what the stream has
};

inline std::uint64_t since(Moment start, Moment time) noexcept {
  return static_cast<std::uint64_t>(std::max(time - start, Moment::zero()).count());
}

// So many calls have to be above a quantile before it is used.
constexpr std::uint64_t kFewestSlow = 5;
constexpr std::uint64_t fewest_calls(std::uint64_t quantile) noexcept {
  return kFewestSlow * kQuantileUnits / (kQuantileUnits - quantile);
}

// What has been added since `before`, and the end of the record.
inline void put_buckets(wire::LatencyEncoder& latency, const trace::Histogram& sum,
                        const trace::Histogram& before) noexcept {
  for (std::size_t bucket = 0; bucket < kBucketCount; ++bucket) {
    const std::uint64_t count = sum.buckets[bucket] - before.buckets[bucket];
    if (count != 0) latency.put({.bucket = bucket, .count = count});
  }
  latency.end();
}

}  // namespace swipr::agent
