#include "symbolize/address_map.h"

#include <algorithm>
#include <queue>

namespace swipr::symbolize {
namespace {

struct LowerPriority {
  const std::vector<Interval>* intervals;
  bool operator()(std::size_t left, std::size_t right) const {
    const std::uint64_t left_priority = (*intervals)[left].priority;
    const std::uint64_t right_priority = (*intervals)[right].priority;
    return left_priority != right_priority ? left_priority < right_priority : left < right;
  }
};

std::vector<std::uint64_t> boundaries_of(const std::vector<Interval>& intervals) {
  std::vector<std::uint64_t> boundaries;
  boundaries.reserve(intervals.size() * 2);
  for (const Interval& interval : intervals) {
    boundaries.push_back(interval.begin.value);
    boundaries.push_back(interval.end.value);
  }
  std::sort(boundaries.begin(), boundaries.end());
  boundaries.erase(std::unique(boundaries.begin(), boundaries.end()), boundaries.end());
  return boundaries;
}

}  // namespace

AddressMap::AddressMap(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& interval) { return interval.begin >= interval.end; });
  std::stable_sort(
      intervals.begin(), intervals.end(),
      [](const Interval& left, const Interval& right) { return left.begin < right.begin; });
  std::priority_queue<std::size_t, std::vector<std::size_t>, LowerPriority> active(
      LowerPriority{&intervals});
  std::size_t next = 0;
  for (const std::uint64_t boundary : boundaries_of(intervals)) {
    while (next < intervals.size() && intervals[next].begin.value <= boundary) active.push(next++);
    // Those that ended below the winner are dropped when they come up.
    while (!active.empty() && intervals[active.top()].end.value <= boundary) active.pop();
    append(boundary, active.empty() ? kGap : intervals[active.top()].value);
  }
  segments_.shrink_to_fit();
}

void AddressMap::append(std::uint64_t begin, std::uint32_t value) {
  const std::uint32_t previous = segments_.empty() ? kGap : segments_.back().value;
  if (value != previous) segments_.push_back({begin, value});
}

std::optional<std::uint32_t> AddressMap::find(ImageAddr address) const {
  auto after = std::upper_bound(
      segments_.begin(), segments_.end(), address.value,
      [](std::uint64_t wanted, const Segment& segment) { return wanted < segment.begin; });
  if (after == segments_.begin()) return std::nullopt;
  const std::uint32_t value = std::prev(after)->value;
  if (value == kGap) return std::nullopt;
  return value;
}

}  // namespace swipr::symbolize
