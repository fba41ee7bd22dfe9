#include "cli/live/call_window.h"

#include <algorithm>
#include <cmath>

#include "common/core/duration_buckets.h"

namespace swipr::live {

namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kOutlierShare = 1'000;  // one in so many, at either end

// The bucket of the call with that number, in order of duration.
std::uint32_t bucket_of_call(const CallBuckets& calls, std::uint64_t number) {
  std::uint64_t before = 0;
  for (const auto& [bucket, count] : calls) {
    before += count;
    if (number < before) return bucket;
  }
  return calls.rbegin()->first;
}

}  // namespace

void CallWindow::add(std::span<const profile::Sample> samples) {
  for (const profile::Sample& sample : samples) {
    if (!has_begun_) begin_ = sample.begin();
    has_begun_ = true;
    now_ = std::max(now_, sample.time);
    if (sample.calls != profile::kNone) samples_.push_back(sample);
  }
  const nanoseconds oldest = now_ - kLength;
  while (!samples_.empty() && samples_.front().time < oldest) samples_.pop_front();
  while (samples_.size() > kMaxSamples) samples_.pop_front();
  while (!calls_.empty() && calls_.front().time < oldest) calls_.pop_front();
}

void CallWindow::add_calls(const CallBuckets& all) {
  CallBuckets added;
  for (const auto& [bucket, count] : all) {
    const auto before = all_.find(bucket);
    const std::uint64_t more = before == all_.end() ? count : count - before->second;
    if (more != 0) added[bucket] = more;
  }
  if (added.empty()) return;
  all_ = all;
  if (calls_.empty() || calls_.back().time != now_) calls_.push_back({now_, {}});
  for (const auto& [bucket, count] : added) calls_.back().added[bucket] += count;
}

void CallWindow::begin_stream() {
  samples_.clear();
  all_.clear();
}

nanoseconds CallWindow::first(std::size_t seconds) const {
  return std::max(begin_, now_ - std::chrono::seconds(seconds));
}

CallBuckets CallWindow::calls(std::size_t seconds) const {
  CallBuckets sum;
  for (const Calls& part : calls_) {
    if (part.time <= first(seconds)) continue;
    for (const auto& [bucket, count] : part.added) sum[bucket] += count;
  }
  return sum;
}

std::vector<profile::Sample> CallWindow::samples(std::size_t seconds) const {
  std::vector<profile::Sample> kept;
  std::copy_if(
      samples_.begin(), samples_.end(), std::back_inserter(kept),
      [this, seconds](const profile::Sample& sample) { return sample.time > first(seconds); });
  return kept;
}

nanoseconds CallWindow::covered(std::size_t seconds) const {
  return has_begun_ ? now_ - first(seconds) : nanoseconds(0);
}

std::vector<std::uint64_t> make_histogram(const CallBuckets& calls, std::size_t steps) {
  std::uint64_t count = 0;
  for (const auto& [bucket, part] : calls) count += part;
  if (count == 0 || steps == 0) return {};
  const std::uint32_t shortest = bucket_of_call(calls, count / kOutlierShare);
  const std::uint32_t longest = bucket_of_call(calls, count - 1 - count / kOutlierShare);
  const auto place = [](std::uint32_t bucket) {
    return std::log2(static_cast<double>(bucket_begin(bucket)) + 1);
  };
  const double begin = place(shortest);
  const double width = std::max(place(longest) - begin, 1e-9);
  std::vector<std::uint64_t> histogram(steps);
  for (const auto& [bucket, part] : calls) {
    const double at = (place(bucket) - begin) / width * static_cast<double>(steps);
    const double step = std::clamp(at, 0.0, static_cast<double>(steps - 1));
    histogram[static_cast<std::size_t>(step)] += part;
  }
  return histogram;
}

}  // namespace swipr::live
