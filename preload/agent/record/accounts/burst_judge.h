// Decides how a thread that runs in bursts is sampled while it runs: by ticks or by its CPU timer.
//
// Ticks are at random times, so they sample bursts without bias, but only if they arrive in time:
// on a busy CPU the control thread runs when the thread leaves it, and a burst of some microseconds
// is over when the signal arrives. CPU timers always find a burst running, but only at the kernel's
// clock tick: they sample bursts that are in step with that tick at one phase.
//
// The thread's CPU clock shows which case applies. If ticks arrive in time, they find the thread
// running once per interval of CPU time that it uses. If the number is lower by more than chance
// explains, its timer samples it for a while, then ticks are tried again. Pure: no clock is read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace swipr::agent {

class BurstJudge {
 public:
  // At each check: the thread's clock and the interval, both in ns.
  void look(std::int64_t cpu_ns, std::int64_t interval_ns) noexcept {
    if (is_left_to_timer() && cpu_ns < timer_until_ns_) return;
    if (is_left_to_timer() || from_ns_ < 0) begin(cpu_ns);
    const std::int64_t expected = (cpu_ns - from_ns_) / interval_ns;
    if (is_off(expected) || is_too_short()) {
      timer_until_ns_ = cpu_ns + timer_intervals_ * interval_ns;
      timer_intervals_ = std::min(2 * timer_intervals_, kMaxTimerIntervals);
    } else if (expected >= kWindow) {
      from_ns_ += (cpu_ns - from_ns_) / 2;
      met_ /= 2;
      slices_from_ns_ = -1;
      slices_ = 0;
      timer_intervals_ = kTimerIntervals;
    }
  }
  // The thread runs in bursts again: CPU time used meanwhile does not count.
  void restart() noexcept {
    if (!is_left_to_timer()) from_ns_ = -1;
  }
  // Not every tick checks the thread: samples do not represent its CPU time.
  void leave_to_timer(std::int64_t cpu_ns, std::int64_t interval_ns) noexcept {
    timer_until_ns_ = cpu_ns + kTimerIntervals * interval_ns;
  }
  // A tick's signal found the thread running.
  void note_met() noexcept { ++met_; }
  // The thread's clock, and the number of times that it had got a CPU by then.
  void note_slices(std::int64_t cpu_ns, std::uint64_t slices) noexcept {
    if (slices_from_ns_ < 0) {
      slices_from_ns_ = cpu_ns;
      slices_from_ = slices;
    }
    slices_ = slices - slices_from_;
    in_slices_ns_ = cpu_ns - slices_from_ns_;
  }
  bool is_left_to_timer() const noexcept { return timer_until_ns_ != 0; }
  // Two trials in a row have failed: most of its stacks are taken at the kernel's clock interrupt.
  bool fails_trials() const noexcept { return timer_intervals_ > 2 * kTimerIntervals; }

 private:
  // Of CPU time, in intervals.
  static constexpr std::int64_t kWindow = 512;
  static constexpr std::int64_t kTimerIntervals = 128;  // twice as many after each trial that fails
  static constexpr std::int64_t kMaxTimerIntervals = 4096;
  static constexpr std::int64_t kShortestBurstNs = 60'000;

  void begin(std::int64_t cpu_ns) noexcept {
    from_ns_ = cpu_ns;
    timer_until_ns_ = met_ = 0;
    slices_from_ns_ = -1;
    slices_ = 0;
  }
  // By more than 3/20 (bursts end while the signal is on its way) and 2.5 standard errors. It is
  // asked at each look: by chance alone it is so in 1 to 3 of 100 recordings of 24 s at 10 ms.
  bool is_off(std::int64_t expected) const noexcept {
    const std::int64_t error = std::abs(expected - met_) - expected * 3 / 20;
    return error > 0 && 4 * error * error > 25 * std::max<std::int64_t>(expected, 4);
  }
  // A signal takes 5 to 20 us: late ones would bias the samples.
  bool is_too_short() const noexcept {
    return slices_ >= 8 && in_slices_ns_ / kShortestBurstNs < static_cast<std::int64_t>(slices_);
  }

  std::int64_t from_ns_ = -1;  // the thread's clock when counting began
  std::int64_t met_ = 0;
  std::int64_t timer_until_ns_ = 0;  // on the thread's clock; 0: ticks sample
  std::int64_t timer_intervals_ = kTimerIntervals;
  std::int64_t slices_from_ns_ = -1;
  std::int64_t in_slices_ns_ = 0;
  std::uint64_t slices_from_ = 0;
  std::uint64_t slices_ = 0;
};

}  // namespace swipr::agent
