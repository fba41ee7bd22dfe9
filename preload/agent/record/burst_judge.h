// Who takes the stacks of the CPU time of a thread that runs in bursts: the ticks or its CPU timer.
//
// Ticks are at random moments, so what they meet is a fair sample of the bursts, but only where
// they can look in time: on a busy CPU the control thread runs when the thread leaves it, and a
// burst of some microseconds is over when the signal arrives. CPU timers always meet a burst, but
// at the kernel's clock tick alone: of bursts that are in step with that tick they see one phase.
//
// The thread's CPU clock tells which world it is. If ticks look in time, they find the thread at
// work once for each interval of CPU time that it uses. If they find it less often by more than
// chance explains, its timer judges for a while, then the ticks are tried again.
// Pure: no clock is read.
#pragma once

#include <algorithm>
#include <cstdint>

namespace swipr::agent {

class BurstJudge {
 public:
  // At each look: the thread's clock and the interval, both in ns.
  void look(std::int64_t cpu_ns, std::int64_t interval_ns) noexcept {
    if (timer_until_ns_ != 0 && cpu_ns < timer_until_ns_) return;
    if (timer_until_ns_ != 0 || from_ns_ < 0) *this = BurstJudge(cpu_ns);
    const std::int64_t expected = (cpu_ns - from_ns_) / interval_ns;
    // 3/20 leave room for bursts that end while the signal is on its way; 3 standard errors.
    const std::int64_t lack = expected * 17 / 20 - met_;
    const std::int64_t excess = met_ - expected * 23 / 20;
    const std::int64_t error = std::max(lack, excess);
    if (error > 0 && error * error > 9 * std::max<std::int64_t>(expected, 4)) {
      timer_until_ns_ = cpu_ns + kIntervalsOfTimer * interval_ns;
    } else if (expected >= kWindow) {
      from_ns_ += (cpu_ns - from_ns_) / 2;
      met_ /= 2;
    }
  }
  // A tick's signal found the thread at work.
  void note_met() noexcept { ++met_; }
  bool is_left_to_timer() const noexcept { return timer_until_ns_ != 0; }

 private:
  static constexpr std::int64_t kWindow = 512;  // intervals of CPU time
  static constexpr std::int64_t kIntervalsOfTimer = 128;

 public:
  constexpr BurstJudge() noexcept = default;

 private:
  explicit constexpr BurstJudge(std::int64_t from_ns) noexcept : from_ns_(from_ns) {}

  std::int64_t from_ns_ = -1;  // the thread's clock when counting began
  std::int64_t met_ = 0;
  std::int64_t timer_until_ns_ = 0;  // on the thread's clock; 0: the ticks judge
};

}  // namespace swipr::agent
