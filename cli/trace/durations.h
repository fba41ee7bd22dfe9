// Durations of the calls of one function, added up from the buckets of the stream. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/core/duration_buckets.h"

namespace swipr::tracing {

// How far a quantile may be from the true one: half a bucket.
inline constexpr double kRelativeError = 0.016;

class Durations {
 public:
  // Sums stop at 2^64 − 1: the stream may say anything.  Returns false if there is no such bucket.
  bool add_bucket(std::uint64_t bucket, std::uint64_t calls);
  struct Totals {
    std::chrono::nanoseconds sum{0};
    std::chrono::nanoseconds max{0};  // 0: unknown, then it is that of the last bucket
    std::uint64_t exceptions = 0;     // calls that ended by one; they are in the buckets, too
    std::uint64_t untraced = 0;       // calls that were not measured
  };
  // `totals.max` replaces a smaller one.
  void add_totals(const Totals& totals);
  void add(const Durations& other);

  std::uint64_t calls() const { return calls_; }
  const Totals& totals() const { return totals_; }
  // Number of calls by bucket; empty, or kBucketCount of them.
  std::span<const std::uint64_t> buckets() const { return buckets_; }

  // `share` of the calls, 0 to 1, took at most this long; 1 is the maximum. None: there are not
  // enough calls, of which at least one has to be slower.
  std::optional<std::chrono::nanoseconds> quantile(double share) const;
  std::optional<std::chrono::nanoseconds> mean() const;

 private:
  std::chrono::nanoseconds slowest() const;  // there are calls

  std::vector<std::uint64_t> buckets_;
  std::uint64_t calls_ = 0;
  Totals totals_;
};

// The quantiles that are shown.
struct QuantileName {
  const char* name;
  double share;
};
inline constexpr QuantileName kQuantiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}};

}  // namespace swipr::tracing
