// How often a recording checks each kind of thread, so that swipr's own CPU time stays within a
// budget. Busy threads are checked at every tick. Above the budget idle threads are checked less
// often, then those that wake but hardly use the CPU; each at least once a second.
// Context: control thread.  Allocates: never.
#pragma once

#include <chrono>
#include <cstdint>

namespace swipr::agent {

enum class Activity : std::uint8_t {
  kBusy,
  kLight,  // ran since the last check, for a small part of the time
  kIdle,   // did not run during the last checks
};

class OverheadBudget {
 public:
  // Nanoseconds as everywhere; `own_cpu` is the control thread's CPU time.
  using Time = std::chrono::nanoseconds;

  // `permille` of one CPU.
  void start(std::uint32_t permille, Time interval, Time now, Time own_cpu) noexcept;
  // The cost is measured over windows; reading a clock at each tick would add to it.
  bool window_is_over(Time now) const noexcept { return now >= window_ends_; }
  void close_window(Time now, Time own_cpu) noexcept;

  // Ticks from one check to the next: 1 is every tick.
  std::uint32_t period(Activity activity) const noexcept {
    if (activity == Activity::kBusy) return 1;
    return activity == Activity::kLight ? light_period_ : idle_period_;
  }

 private:
  void open_window(Time now, Time own_cpu) noexcept;
  void look_less(std::int64_t cost, std::int64_t allowed) noexcept;
  void look_more(std::int64_t cost, std::int64_t allowed) noexcept;

  std::int64_t permille_ = 0;
  Time interval_{0};
  Time window_start_{0};
  Time window_ends_{0};
  Time cost_before_{0};
  std::uint32_t max_period_ = 1;
  std::uint32_t idle_period_ = 1;
  std::uint32_t light_period_ = 1;
};

}  // namespace swipr::agent
