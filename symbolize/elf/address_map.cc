#include "symbolize/elf/address_map.h"

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

// Of intervals in the order of their begins.
bool are_disjoint(const std::vector<Interval>& intervals) {
  const auto meet = [](const Interval& left, const Interval& right) {
    return right.begin < left.end;
  };
  return std::adjacent_find(intervals.begin(), intervals.end(), meet) == intervals.end();
}

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
  const auto is_before = [](const Interval& left, const Interval& right) {
    return left.begin < right.begin;
  };
  if (!std::is_sorted(intervals.begin(), intervals.end(), is_before)) {
    std::stable_sort(intervals.begin(), intervals.end(), is_before);
  }
  if (are_disjoint(intervals)) {
    append_all(intervals);
  } else if (!append_nested(intervals)) {
    segments_.clear();
    append_winners(intervals);
  }
  segments_.shrink_to_fit();
}

// Most symbol tables.
void AddressMap::append_all(const std::vector<Interval>& intervals) {
  segments_.reserve(intervals.size());
  for (std::size_t index = 0; index < intervals.size(); ++index) {
    const Interval& interval = intervals[index];
    append(interval.begin.value, interval.value);
    const bool meets_next =
        index + 1 < intervals.size() && intervals[index + 1].begin == interval.end;
    if (!meets_next) append(interval.end.value, kGap);
  }
}

// Functions and what is inlined in them: each interval is within the last open one,
// and wins there. False: these do not.
bool AddressMap::append_nested(const std::vector<Interval>& intervals) {
  std::vector<const Interval*> open;
  const auto close_until = [&](std::uint64_t address) {
    while (!open.empty() && open.back()->end.value <= address) {
      const std::uint64_t end = open.back()->end.value;
      open.pop_back();
      append(end, open.empty() ? kGap : open.back()->value);
    }
  };
  segments_.reserve(intervals.size());
  for (const Interval& interval : intervals) {
    close_until(interval.begin.value);
    const Interval* around = open.empty() ? nullptr : open.back();
    if (around != nullptr && (interval.end > around->end || interval.priority < around->priority)) {
      return false;
    }
    append(interval.begin.value, interval.value);
    open.push_back(&interval);
  }
  close_until(~std::uint64_t{0});
  return true;
}

void AddressMap::append_winners(const std::vector<Interval>& intervals) {
  std::priority_queue<std::size_t, std::vector<std::size_t>, LowerPriority> active(
      LowerPriority{&intervals});
  std::size_t next = 0;
  for (const std::uint64_t boundary : boundaries_of(intervals)) {
    while (next < intervals.size() && intervals[next].begin.value <= boundary) active.push(next++);
    // Those that ended below the winner are dropped when they come up.
    while (!active.empty() && intervals[active.top()].end.value <= boundary) active.pop();
    append(boundary, active.empty() ? kGap : intervals[active.top()].value);
  }
}

void AddressMap::append(std::uint64_t begin, std::uint32_t value) {
  while (!segments_.empty() && segments_.back().begin == begin) segments_.pop_back();
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
