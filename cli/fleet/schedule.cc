#include "cli/fleet/schedule.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace swipr::fleet {

namespace {

// What the process would have cost with another divisor.
nanoseconds cost_with(const Usage& usage, std::uint32_t used, std::uint32_t wanted) {
  return usage.overhead * used / wanted;
}

}  // namespace

std::vector<std::uint32_t> divisors_within(std::span<const Usage> processes,
                                           std::span<const std::uint32_t> divisors,
                                           nanoseconds allowed) {
  const std::size_t count = processes.size();
  std::vector<std::uint32_t> used(count, 1);
  std::copy_n(divisors.begin(), std::min(count, divisors.size()), used.begin());
  std::vector<std::uint32_t> wanted(count);
  std::transform(used.begin(), used.end(), wanted.begin(),
                 [](std::uint32_t divisor) { return std::max(divisor / 2, 1u); });
  std::vector<nanoseconds> costs(count);
  for (std::size_t index = 0; index < count; ++index) {
    costs[index] = cost_with(processes[index], used[index], wanted[index]);
  }
  nanoseconds sum = std::accumulate(costs.begin(), costs.end(), nanoseconds(0));
  while (sum > allowed) {
    std::size_t costliest = count;
    for (std::size_t index = 0; index < count; ++index) {
      const bool may = wanted[index] < kLargestDivisor && costs[index].count() > 0;
      if (may && (costliest == count || costs[index] > costs[costliest])) costliest = index;
    }
    if (costliest == count) break;  // all are at the least rate
    wanted[costliest] *= 2;
    sum -= costs[costliest];
    costs[costliest] = cost_with(processes[costliest], used[costliest], wanted[costliest]);
    sum += costs[costliest];
  }
  return wanted;
}

}  // namespace swipr::fleet
