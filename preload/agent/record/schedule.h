// Schedule of one recording: absolute deadlines at random intervals.
//
// Ticks on a fixed grid are in step with a program of the same period and sample one phase of it.
// The distance of each tick from the grid is a random walk with a restoring term:
//
//   drift(n) = 7/8 drift(n-1) + uniform(-1/2, 1/2),  deadline(n) = n + drift(n)  (in intervals)
//
// Two ticks are usually 1/2 to 3/2 of an interval apart, and the mean rate is exact: the drift has
// a standard deviation of 0.6 and stays below 4. The distance to the previous tick does not depend
// on the phase at which the program is sampled, so the time between two samples, which is the
// weight, is unbiased. Ticks drawn uniformly from each interval of the grid would favour late
// phases: docs/design/58-random-ticks.md. Pure: no clock is read.
#pragma once

#include <chrono>
#include <cstdint>

#include "preload/agent/base/moment.h"
#include "preload/agent/base/random.h"
#include "preload/agent/record/recording_request.h"

namespace swipr::agent {

class Schedule {
 public:
  // From `request`: interval, ticks, duration, jitter. The last of a limited number of deadlines is
  // never after the grid's last.
  void start(const RecordingRequest& request, Moment start, std::uint64_t seed) noexcept;

  // The next deadline; kNever: none is left.
  Moment next() const noexcept { return next_; }
  // Passes every deadline up to `now`; returns their number.
  std::uint64_t pass(Moment now) noexcept;
  bool has_passed_all() const noexcept { return total_ != 0 && passed_ == total_; }

 private:
  Moment on_grid(std::uint64_t tick) const noexcept {
    return start_ + interval_ * static_cast<std::int64_t>(tick);
  }
  void draw() noexcept;
  void place() noexcept;

  Moment start_{0};
  std::chrono::nanoseconds interval_{0};
  std::uint64_t total_ = 0;   // 0: no limit
  std::uint64_t passed_ = 0;  // deadlines
  Moment next_ = kNever;
  std::chrono::nanoseconds drift_{0};  // of the next deadline from the grid
  bool jitter_ = false;
  Random random_;
};

}  // namespace swipr::agent
