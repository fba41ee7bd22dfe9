// Converts overlapping address intervals into a sorted map of disjoint ones. The interval with
// the highest priority is used where several overlap. Used for units, inlined functions and
// symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/core/addresses.h"

namespace swipr::symbolize {

struct Interval {
  ImageAddr begin;
  ImageAddr end;               // half-open; empty and reversed intervals are ignored
  std::uint64_t priority = 0;  // for equal priorities the last one added is used
  std::uint32_t value = 0;
};

class AddressMap {
 public:
  AddressMap() = default;
  // O(n log n) for any overlaps, so that crafted ranges cost no more.
  explicit AddressMap(std::vector<Interval> intervals);

  std::optional<std::uint32_t> find(ImageAddr address) const;
  std::size_t size() const { return segments_.size(); }

 private:
  // A segment ends at the start of the next one.
  struct Segment {
    std::uint64_t begin;
    std::uint32_t value;
  };
  static constexpr std::uint32_t kGap = 0xFFFFFFFFu;

  void append(std::uint64_t begin, std::uint32_t value);
  void append_all(const std::vector<Interval>& intervals);
  bool append_nested(const std::vector<Interval>& intervals);
  void append_winners(const std::vector<Interval>& intervals);

  std::vector<Segment> segments_;
};

}  // namespace swipr::symbolize
