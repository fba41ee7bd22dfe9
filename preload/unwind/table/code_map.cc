#include "preload/unwind/table/code_map.h"

#include <cstddef>

namespace swipr::unwind {

const CodeRange* CodeMap::find(std::uint64_t pc) const noexcept {
  std::size_t low = 0;
  std::size_t high = ranges_.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (ranges_[middle].end <= pc) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == ranges_.size() || pc < ranges_[low].start) return nullptr;
  return &ranges_[low];
}

}  // namespace swipr::unwind
