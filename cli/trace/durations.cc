#include "cli/trace/durations.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace swipr::tracing {

namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::uint64_t sum_of(std::uint64_t left, std::uint64_t right) {
  return left > kMost - right ? kMost : left + right;
}

nanoseconds sum_of(nanoseconds left, nanoseconds right) {
  constexpr nanoseconds kLongest = nanoseconds::max();
  return left > kLongest - right ? kLongest : left + right;
}

nanoseconds middle_of(std::size_t bucket) {
  const std::uint64_t begin = bucket_begin(bucket);
  const std::uint64_t last = bucket + 1 < kBucketCount ? bucket_begin(bucket + 1) - 1 : kMost;
  const std::uint64_t middle = begin + (last - begin) / 2;
  return nanoseconds(std::min<std::uint64_t>(middle, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

bool Durations::add_bucket(std::uint64_t bucket, std::uint64_t calls) {
  if (bucket >= kBucketCount) return false;
  if (buckets_.empty()) buckets_.resize(kBucketCount);
  std::uint64_t& count = buckets_[static_cast<std::size_t>(bucket)];
  count = sum_of(count, calls);
  calls_ = sum_of(calls_, calls);
  return true;
}

void Durations::add_totals(const Totals& totals) {
  totals_.sum = sum_of(totals_.sum, std::max(totals.sum, nanoseconds(0)));
  totals_.max = std::max(totals_.max, totals.max);
  totals_.exceptions = sum_of(totals_.exceptions, totals.exceptions);
  totals_.untraced = sum_of(totals_.untraced, totals.untraced);
}

void Durations::add(const Durations& other) {
  for (std::size_t bucket = 0; bucket < other.buckets_.size(); ++bucket) {
    if (other.buckets_[bucket] != 0) add_bucket(bucket, other.buckets_[bucket]);
  }
  add_totals(other.totals_);
}

std::optional<nanoseconds> Durations::quantile(double share) const {
  if (calls_ == 0) return std::nullopt;
  if (share >= 1) return slowest();
  const double count = static_cast<double>(calls_);
  // The call at this place has `share` of the calls before it or at it.
  const double place = std::max(std::ceil(share * count), 1.0);
  if (place >= count) return share > 0.5 ? std::nullopt : std::optional(slowest());
  double before = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    before += static_cast<double>(buckets_[bucket]);
    if (before < place) continue;
    return std::min(middle_of(bucket), slowest());
  }
  return slowest();
}

nanoseconds Durations::slowest() const {
  if (totals_.max > nanoseconds(0)) return totals_.max;
  const auto last = std::find_if(buckets_.rbegin(), buckets_.rend(),
                                 [](std::uint64_t calls) { return calls != 0; });
  return middle_of(static_cast<std::size_t>(buckets_.rend() - last) - 1);
}

std::optional<nanoseconds> Durations::mean() const {
  if (calls_ == 0) return std::nullopt;
  return nanoseconds(totals_.sum.count() / static_cast<std::int64_t>(std::min<std::uint64_t>(
                                               calls_, std::numeric_limits<std::int64_t>::max())));
}

}  // namespace swipr::tracing
