#include "cli/trace/time_axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace swipr::tracing {

namespace {

using std::chrono::nanoseconds;

constexpr double kOutside = 0.001;  // of the calls, at each end
constexpr std::array kStepsPerDecade = {24, 12, 6, 3, 1};
constexpr int kDecades = 18;  // of nanoseconds, 30 years

// 10^(step / steps), with two digits; three steps are 1, 2, 5.
std::uint64_t begin_of_step(int step, int steps) {
  static constexpr std::array kThree = {1.0, 2.0, 5.0};
  const int part = step % steps;
  const double exact = std::pow(10, static_cast<double>(part) / steps);
  const double digits =
      steps == 3 ? kThree[static_cast<std::size_t>(part)] : std::round(exact * 10) / 10;
  return static_cast<std::uint64_t>(std::llround(digits * std::pow(10, step / steps)));
}

std::vector<nanoseconds> begins_between(std::uint64_t low, std::uint64_t high, int steps) {
  std::vector<nanoseconds> begins;
  std::uint64_t previous = 0;  // calls of 0 ns are in the first row
  for (int step = 0; step < kDecades * steps; ++step) {
    const std::uint64_t begin = begin_of_step(step, steps);
    if (begin > high) break;
    if (begin > low && begins.empty()) begins.push_back(nanoseconds(previous));
    if (begin > low && begin != previous) begins.push_back(nanoseconds(begin));
    previous = begin;
  }
  if (begins.empty()) begins.push_back(nanoseconds(previous));
  return begins;
}

}  // namespace

TimeAxis make_time_axis(std::span<const Durations* const> functions, std::size_t max_rows) {
  nanoseconds low = nanoseconds::max(), high{0};
  for (const Durations* function : functions) {
    if (function->calls() == 0) continue;
    low = std::min(low, function->quantile(kOutside).value_or(function->totals().max));
    high = std::max(high, function->quantile(1 - kOutside).value_or(function->totals().max));
  }
  if (low > high) return {};
  TimeAxis axis;
  for (const int steps : kStepsPerDecade) {
    axis.begins = begins_between(static_cast<std::uint64_t>(low.count()),
                                 static_cast<std::uint64_t>(high.count()), steps);
    axis.is_coarse = steps == 1;
    if (axis.begins.size() <= max_rows) break;
  }
  return axis;
}

std::vector<double> shares_of(const Durations& durations, const TimeAxis& axis) {
  std::vector<double> shares(axis.begins.size());
  if (shares.empty() || durations.calls() == 0) return shares;
  double total = 0;
  for (const std::uint64_t calls : durations.buckets()) total += static_cast<double>(calls);
  const auto begin_of = [&axis](std::size_t row) {
    return static_cast<double>(axis.begins[row].count());
  };
  std::size_t row = 0;
  for (std::size_t bucket = 0; bucket < durations.buckets().size(); ++bucket) {
    if (durations.buckets()[bucket] == 0) continue;
    double begin = static_cast<double>(bucket_begin(bucket));
    const double end =
        bucket + 1 < kBucketCount ? static_cast<double>(bucket_begin(bucket + 1)) : 2 * begin;
    const double per_ns = static_cast<double>(durations.buckets()[bucket]) / total / (end - begin);
    while (row + 1 < shares.size() && begin_of(row + 1) < end) {
      const double part_end = std::max(begin_of(row + 1), begin);
      shares[row++] += per_ns * (part_end - begin);
      begin = part_end;
    }
    shares[row] += per_ns * (end - begin);
  }
  return shares;
}

}  // namespace swipr::tracing
