#include "cli/trace/modes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace swipr::tracing {

namespace {

constexpr double kMinBandwidth = 1.0 / 16;  // octaves: two buckets
constexpr double kClockStep = 5;            // ns; what clocks cannot tell apart is no valley
constexpr double kStepsPerBandwidth = 4;
constexpr double kMaxValley = 0.8;     // of the lower peak beside it
constexpr double kMinShare = 0.01;     // of the calls
constexpr double kMinStrength = 4;     // standard deviations
constexpr double kLongestMode = 9e18;  // ns; fits in 64 bits
constexpr double kReach = 4;           // of the kernel, in bandwidths
constexpr double kRoughness = 0.28;  // ∫K² of the Gaussian kernel: its variance is f·∫K²/(n·h)

struct Point {
  double octave;  // log2 of the bucket's middle, in ns
  double calls;
  double bandwidth;
};

// Spread of the calls as normal_reference() needs it.
double bandwidth_of(std::span<const Point> points, double total) {
  double mean = 0, square = 0, before = 0, low = 0, high = 0;
  for (const Point& point : points) {
    mean += point.octave * point.calls / total;
    if (before < 0.25 * total) low = point.octave;
    if (before < 0.75 * total) high = point.octave;
    before += point.calls;
  }
  for (const Point& point : points) {
    square += (point.octave - mean) * (point.octave - mean) * point.calls / total;
  }
  const double deviation = std::sqrt(square);
  const double range = (high - low) / 1.34;
  const double spread = range > 0 ? std::min(deviation, range) : deviation;
  return std::max(0.9 * spread * std::pow(total, -0.2), kMinBandwidth);
}

std::vector<Point> points_of(std::span<const std::uint64_t> buckets, double total) {
  std::vector<Point> points;
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
    if (buckets[bucket] == 0) continue;
    const double begin = static_cast<double>(bucket_begin(bucket));
    const double end =
        bucket + 1 < kBucketCount ? static_cast<double>(bucket_begin(bucket + 1)) : 2 * begin;
    points.push_back(
        {std::log2(std::max((begin + end) / 2, 1.0)), static_cast<double>(buckets[bucket]), 0});
  }
  const double bandwidth = bandwidth_of(points, total);
  for (Point& point : points) {
    point.bandwidth = std::max(bandwidth, std::log2(1 + kClockStep / std::exp2(point.octave)));
  }
  return points;
}

// Calls per octave on a grid.
struct Density {
  double first;  // octave of the first value
  double step;
  std::vector<double> values;

  double octave(std::size_t at) const { return first + step * static_cast<double>(at); }
};

Density density_of(std::span<const Point> points) {
  double widest = 0, narrowest = 64;
  for (const Point& point : points) {
    widest = std::max(widest, point.bandwidth);
    narrowest = std::min(narrowest, point.bandwidth);
  }
  Density density{points.front().octave - kReach * widest, narrowest / kStepsPerBandwidth, {}};
  const double length = points.back().octave + kReach * widest - density.first;
  density.values.resize(static_cast<std::size_t>(length / density.step) + 2);
  for (const Point& point : points) {
    const double scale = point.calls / (point.bandwidth * std::sqrt(2 * std::acos(-1.0)));
    const auto at = [&](double octave) {
      return static_cast<std::size_t>(std::max((octave - density.first) / density.step, 0.0));
    };
    const std::size_t end = at(point.octave + kReach * point.bandwidth);
    for (std::size_t x = at(point.octave - kReach * point.bandwidth);
         x <= end && x < density.values.size(); ++x) {
      const double away = (density.octave(x) - point.octave) / point.bandwidth;
      density.values[x] += scale * std::exp(-0.5 * away * away);
    }
  }
  return density;
}

// Peaks and the valleys between them in turn, as places on the grid: peak, valley, peak…
std::vector<std::size_t> extremes_of(const std::vector<double>& values) {
  std::vector<std::size_t> extremes;
  bool rises = true;
  std::size_t best = 0;
  for (std::size_t at = 1; at < values.size(); ++at) {
    const bool is_further = rises ? values[at] > values[best] : values[at] < values[best];
    const bool turns = rises ? values[at] < values[best] : values[at] > values[best];
    if (turns) {
      extremes.push_back(best);
      rises = !rises;
    }
    if (turns || is_further) best = at;
  }
  if (extremes.size() % 2 == 0 && !extremes.empty()) extremes.pop_back();  // ends in a valley
  return extremes;
}

double bandwidth_at(std::span<const Point> points, double octave) {
  const auto after =
      std::lower_bound(points.begin(), points.end(), octave,
                       [](const Point& point, double wanted) { return point.octave < wanted; });
  return after == points.end() ? points.back().bandwidth : after->bandwidth;
}

class ModeFinder {
 public:
  ModeFinder(std::span<const Point> points, double total)
      : points_(points), total_(total), density_(density_of(points)) {
    extremes_ = extremes_of(density_.values);
  }

  std::vector<Mode> run() {
    while (const auto weakest = find_weakest()) merge(*weakest);
    std::vector<Mode> modes;
    for (std::size_t at = 0; at < extremes_.size(); at += 2) {
      const double peak = std::exp2(density_.octave(extremes_[at]));
      modes.push_back({std::chrono::nanoseconds(std::llround(std::min(peak, kLongestMode))),
                       calls_between(begin_of(at), end_of(at)) / total_});
    }
    return modes;
  }

 private:
  double value(std::size_t extreme) const { return density_.values[extremes_[extreme]]; }

  // Octaves between which the calls of a peak are.
  double begin_of(std::size_t peak) const {
    return peak == 0 ? -1 : density_.octave(extremes_[peak - 1]);
  }
  double end_of(std::size_t peak) const {
    return peak + 1 >= extremes_.size() ? 65 : density_.octave(extremes_[peak + 1]);
  }
  double calls_between(double begin, double end) const {
    double calls = 0;
    for (const Point& point : points_) {
      if (point.octave >= begin && point.octave < end) calls += point.calls;
    }
    return calls;
  }

  std::size_t lower_peak(std::size_t valley) const {
    return value(valley - 1) < value(valley + 1) ? valley - 1 : valley + 1;
  }

  // Below 1: the valley does not separate its peaks.
  double strength_of(std::size_t valley) const {
    const std::size_t lower = lower_peak(valley);
    const double top = value(lower), bottom = value(valley);
    const double bandwidth = bandwidth_at(points_, density_.octave(extremes_[lower]));
    const double noise = std::sqrt((top + bottom) * kRoughness / bandwidth);
    const double share = calls_between(begin_of(lower), end_of(lower)) / total_;
    return std::min({(top - bottom) / (kMinStrength * noise), (1 - bottom / top) / (1 - kMaxValley),
                     share / kMinShare});
  }

  std::optional<std::size_t> find_weakest() const {
    std::optional<std::size_t> weakest;
    double least = 1;
    for (std::size_t valley = 1; valley + 1 < extremes_.size(); valley += 2) {
      const double strength = strength_of(valley);
      if (strength >= least) continue;
      least = strength;
      weakest = valley;
    }
    return weakest;
  }

  // The lower peak becomes part of the higher one.
  void merge(std::size_t valley) {
    const std::size_t first = std::min(valley, lower_peak(valley));
    const auto at = extremes_.begin() + static_cast<std::ptrdiff_t>(first);
    extremes_.erase(at, at + 2);
  }

  std::span<const Point> points_;
  double total_;
  Density density_;
  std::vector<std::size_t> extremes_;
};

}  // namespace

std::vector<Mode> find_modes(const Durations& durations) {
  if (durations.calls() == 0) return {};
  double total = 0;
  for (const std::uint64_t calls : durations.buckets()) total += static_cast<double>(calls);
  const std::vector<Point> points = points_of(durations.buckets(), total);
  return ModeFinder(points, total).run();
}

}  // namespace swipr::tracing
