#include "preload/agent/record/overhead_budget.h"

#include <algorithm>

namespace swipr::agent {

namespace {
constexpr std::chrono::seconds kMaxBetweenLooks{1};
constexpr std::chrono::milliseconds kMinWindow{200};
}  // namespace

void OverheadBudget::start(std::uint32_t permille, Time interval, Time now, Time own_cpu) noexcept {
  permille_ = permille;
  interval_ = interval;
  max_period_ = static_cast<std::uint32_t>(std::max<std::int64_t>(kMaxBetweenLooks / interval, 1));
  idle_period_ = light_period_ = 1;
  open_window(now, own_cpu);
}

// A change has its full effect only after every thread was checked.
void OverheadBudget::open_window(Time now, Time own_cpu) noexcept {
  window_start_ = now;
  cost_before_ = own_cpu;
  const auto longest = static_cast<std::int64_t>(std::max(idle_period_, light_period_));
  window_ends_ = now + std::max<Time>(kMinWindow, interval_ * longest);
}

void OverheadBudget::close_window(Time now, Time own_cpu) noexcept {
  const std::int64_t cost = (own_cpu - cost_before_).count();
  const std::int64_t allowed =
      std::max<std::int64_t>((now - window_start_).count() / 1000 * permille_, 1);
  if (cost > allowed) {
    look_less(cost, allowed);
  } else {
    look_more(cost, allowed);
  }
  open_window(now, own_cpu);
}

void OverheadBudget::look_less(std::int64_t cost, std::int64_t allowed) noexcept {
  // If the longest period of idle threads is not sufficient, light threads are checked less often
  // at once.
  const std::int64_t wanted = std::min<std::int64_t>(cost * idle_period_ / allowed, 1'000'000) + 1;
  if (idle_period_ == max_period_ || wanted > max_period_) {
    const std::int64_t light = wanted * light_period_ / max_period_ + 1;
    light_period_ = static_cast<std::uint32_t>(std::min<std::int64_t>(light, max_period_));
  }
  idle_period_ = static_cast<std::uint32_t>(std::min<std::int64_t>(wanted, max_period_));
}

// In steps, and only when the cost can be expected to stay below nine tenths of the budget.
void OverheadBudget::look_more(std::int64_t cost, std::int64_t allowed) noexcept {
  std::uint32_t& period = light_period_ > 1 ? light_period_ : idle_period_;
  if (period == 1) return;
  const std::uint32_t shorter = period - std::max(period / 4, 1u);
  if (cost * period / shorter <= allowed / 10 * 9) period = shorter;
}

}  // namespace swipr::agent
