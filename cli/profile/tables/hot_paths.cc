#include "cli/profile/tables/hot_paths.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cli/profile/group/aggregate.h"
#include "cli/profile/group/folded_tree.h"
#include "cli/profile/group/stack_tree.h"

namespace swipr::profile {

namespace {

struct NodeWeights {
  std::uint64_t total = 0;
  std::uint64_t self = 0;
};

// Self weights of the nodes of the stack tree.
std::vector<std::uint64_t> weigh_alone(StackTree& tree, const Recording& recording, Weight weight,
                                       const StateName& state_name) {
  std::vector<std::uint64_t> weights;
  for (const MergedStack& merged : aggregate(recording, {.by_thread = false, .by_state = true})) {
    const std::uint64_t value = merged.weights[index_of(weight)];
    if (value == 0) continue;
    std::uint32_t node = tree.node_of(merged.stack);
    const std::string state = state_name(merged.state, merged.stack);
    if (!state.empty()) node = tree.pseudo_child(node, state);
    if (weights.size() < tree.nodes().size()) weights.resize(tree.nodes().size());
    weights[node] += value;
  }
  weights.resize(tree.nodes().size());
  return weights;
}

std::vector<NodeWeights> weigh(const FoldedTree& tree, const std::vector<std::uint64_t>& alone) {
  std::vector<NodeWeights> weights(tree.nodes().size());
  for (std::uint32_t node = 0; node < alone.size(); ++node) {
    weights[tree.node_of(node)].self += alone[node];
  }
  for (std::size_t node = weights.size(); node-- > 0;) {
    weights[node].total += weights[node].self;
    const std::uint32_t parent = tree.nodes()[node].parent;
    if (parent != kNone) weights[parent].total += weights[node].total;
  }
  return weights;
}

// The heaviest nodes. A parent weighs at least as much as its children and has a lower index, so
// no node is chosen without its parent.
std::vector<bool> choose(const std::vector<NodeWeights>& weights, std::size_t max_nodes) {
  std::vector<std::uint32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(max_nodes, order.size()));
  std::partial_sort(order.begin(), end, order.end(), [&weights](std::uint32_t a, std::uint32_t b) {
    return std::make_pair(weights[b].total, a) < std::make_pair(weights[a].total, b);
  });
  std::vector<bool> chosen(weights.size());
  for (auto node = order.begin(); node != end; ++node) chosen[*node] = weights[*node].total > 0;
  return chosen;
}

}  // namespace

HotPaths hot_paths(const Recording& recording, const Names& names, Weight weight,
                   const StateName& state_name, std::size_t max_nodes) {
  StackTree stacks(recording, names, StackTree::Detail::kFunction);
  const std::vector<std::uint64_t> alone = weigh_alone(stacks, recording, weight, state_name);
  const FoldedTree tree(stacks);
  const std::vector<NodeWeights> weights = weigh(tree, alone);
  const std::vector<bool> chosen = choose(weights, max_nodes);
  std::vector<std::vector<std::uint32_t>> children(weights.size() + 1);  // the last entry: roots
  HotPaths result;
  for (std::uint32_t node = 0; node < weights.size(); ++node) {
    const std::uint32_t parent = tree.nodes()[node].parent;
    if (chosen[node]) children[parent == kNone ? weights.size() : parent].push_back(node);
    if (!chosen[node] && weights[node].total > 0) ++result.left_out;
  }
  // Heaviest last, because nodes are taken from the back.
  const auto by_weight = [&weights](std::uint32_t a, std::uint32_t b) {
    return std::make_pair(weights[a].total, b) < std::make_pair(weights[b].total, a);
  };
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open;  // node, depth
  const auto push = [&](std::vector<std::uint32_t>& nodes, std::uint32_t depth) {
    std::sort(nodes.begin(), nodes.end(), by_weight);
    for (const std::uint32_t node : nodes) open.emplace_back(node, depth);
  };
  push(children.back(), 0);
  while (!open.empty()) {
    const auto [node, depth] = open.back();
    open.pop_back();
    const FoldedTree::Node& folded = tree.nodes()[node];
    const StackTree::Place& place = stacks.places()[folded.place];
    result.nodes.push_back({place.function, depth, weights[node].total, weights[node].self,
                            folded.levels, place.language});
    push(children[node], depth + 1);
  }
  return result;
}

}  // namespace swipr::profile
