#include "cli/profile/group/folded_tree.h"

#include <algorithm>

namespace swipr::profile {

namespace {
constexpr std::uint32_t kMaxPeriod = 8;  // length of the longest cycle of mutual recursion
}  // namespace

FoldedTree::FoldedTree(const StackTree& tree) : folded_(tree.nodes().size(), kNone) {
  // Levels of the recursion that ends at each node.
  std::vector<std::uint32_t> levels(tree.nodes().size(), 1);
  for (std::uint32_t index = 0; index < tree.nodes().size(); ++index) {
    const StackTree::Node& node = tree.nodes()[index];
    const std::uint32_t above = node.parent == kNone ? kNone : folded_[node.parent];
    std::uint32_t here = child(above, node.place);
    for (std::uint32_t period = 1; period <= kMaxPeriod; ++period) {
      std::uint32_t first = kNone;
      if (!repeats(here, period, first)) continue;
      // The node one period up.
      std::uint32_t before = index;
      for (std::uint32_t step = 0; step < period; ++step) before = tree.nodes()[before].parent;
      levels[index] = (folded_[before] == first ? levels[before] : 1) + 1;
      here = first;
      nodes_[here].levels = std::max(nodes_[here].levels, levels[index]);
      break;
    }
    folded_[index] = here;
  }
}

std::uint32_t FoldedTree::child(std::uint32_t parent, std::uint32_t place) {
  const std::uint64_t key = (std::uint64_t{parent} << 32) | place;
  const auto [found, is_new] =
      node_index_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
  if (is_new) nodes_.push_back({parent, place, 1});
  return found->second;
}

// True if the last `period` nodes up to `node` repeat the `period` nodes above them. `first` is
// then the last of those above.
bool FoldedTree::repeats(std::uint32_t node, std::uint32_t period, std::uint32_t& first) const {
  first = node;
  for (std::uint32_t step = 0; step < period; ++step) {
    first = nodes_[first].parent;
    if (first == kNone) return false;
  }
  std::uint32_t above = first;
  for (std::uint32_t step = 0; step < period; ++step) {
    if (above == kNone || nodes_[node].place != nodes_[above].place) return false;
    node = nodes_[node].parent;
    above = nodes_[above].parent;
  }
  return true;
}

}  // namespace swipr::profile
