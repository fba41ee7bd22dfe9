#include "cli/fleet/overhead_limit.h"

#include <cstddef>
#include <functional>
#include <queue>
#include <utility>

namespace swipr::fleet {

using std::chrono::nanoseconds;

namespace {

using Entry = std::pair<nanoseconds, std::size_t>;  // expected cost, index

void halve(std::vector<unsigned>& halvings, std::span<const RecordingCost> costs, nanoseconds sum,
           nanoseconds allowed) {
  std::priority_queue<Entry> dearest;
  for (std::size_t index = 0; index < costs.size(); ++index) {
    if (halvings[index] < kMostHalvings) dearest.emplace(costs[index].used, index);
  }
  while (sum > allowed && !dearest.empty()) {
    const auto [cost, index] = dearest.top();
    dearest.pop();
    sum -= cost / 2;
    if (++halvings[index] < kMostHalvings) dearest.emplace(cost / 2, index);
  }
}

// Up to three quarters, so that the next slice is not above the limit again.
void give_back(std::vector<unsigned>& halvings, std::span<const RecordingCost> costs,
               nanoseconds sum, nanoseconds allowed) {
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> cheapest;
  for (std::size_t index = 0; index < costs.size(); ++index) {
    if (halvings[index] > 0) cheapest.emplace(costs[index].used, index);
  }
  while (!cheapest.empty()) {
    const auto [cost, index] = cheapest.top();
    cheapest.pop();
    sum += cost;
    if (sum > allowed * 3 / 4) return;
    if (--halvings[index] > 0) cheapest.emplace(cost * 2, index);
  }
}

}  // namespace

std::vector<unsigned> limit_overhead(std::span<const RecordingCost> costs, nanoseconds allowed) {
  std::vector<unsigned> halvings;
  nanoseconds sum{0};
  for (const RecordingCost& cost : costs) {
    halvings.push_back(cost.halvings);
    sum += cost.used;
  }
  if (sum > allowed) halve(halvings, costs, sum, allowed);
  if (sum < allowed / 2) give_back(halvings, costs, sum, allowed);
  return halvings;
}

}  // namespace swipr::fleet
