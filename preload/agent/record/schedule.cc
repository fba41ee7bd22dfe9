#include "preload/agent/record/schedule.h"

#include <algorithm>

namespace swipr::agent {

namespace {

constexpr std::int64_t kPullDivisor = 8;
constexpr std::uint64_t kMaxDrift = 4;  // intervals: 1/2 / (1 - 7/8)
constexpr std::int64_t kMaxDraws = 64;  // at once: after a longer pause the grid is used

std::uint64_t total_of(const RecordingRequest& request) noexcept {
  if (request.duration.count() == 0) return request.ticks;
  const auto fitting = static_cast<std::uint64_t>(request.duration / request.interval);
  return request.ticks == 0 ? fitting : std::min(fitting, request.ticks);
}

}  // namespace

void Schedule::start(const RecordingRequest& request, Moment start, std::uint64_t seed) noexcept {
  start_ = start;
  interval_ = request.interval;
  total_ = total_of(request);
  passed_ = 0;
  drift_ = std::chrono::nanoseconds(0);
  jitter_ = request.jitter;
  random_ = Random(seed);
  draw();
  // A duration shorter than one interval has no tick.
  if (total_ == 0 && request.duration.count() > 0) next_ = kNever;
}

void Schedule::draw() noexcept {
  if (jitter_) {
    drift_ -= drift_ / kPullDivisor;
    drift_ += std::chrono::nanoseconds(random_.below(interval_.count())) - interval_ / 2;
  }
  place();
}

void Schedule::place() noexcept {
  if (has_passed_all()) {
    next_ = kNever;
    return;
  }
  const std::uint64_t tick = passed_ + 1;
  next_ = on_grid(tick) + drift_;
  const std::uint64_t left = total_ - tick;
  if (total_ != 0 && left < 2 * kMaxDrift) {
    next_ = std::min(next_, on_grid(total_) - interval_ / 2 * static_cast<std::int64_t>(left));
  }
}

std::uint64_t Schedule::pass(Moment now) noexcept {
  const std::uint64_t before = passed_;
  if (next_ != kNever && (now - next_) / interval_ > kMaxDraws) {
    const auto behind = static_cast<std::uint64_t>((now - next_) / interval_) - kMaxDrift;
    passed_ += total_ == 0 ? behind : std::min(behind, total_ - passed_);
    place();
  }
  while (next_ <= now) {
    ++passed_;
    draw();
  }
  return passed_ - before;
}

}  // namespace swipr::agent
