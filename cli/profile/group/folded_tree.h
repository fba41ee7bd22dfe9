// A stack tree with recursion folded: if the last functions of a path repeat those just before
// them ("fib fib", "even odd even odd"), the path continues at the first occurrence. Pure.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cli/profile/group/stack_tree.h"

namespace swipr::profile {

class FoldedTree {
 public:
  struct Node {
    std::uint32_t parent = kNone;
    std::uint32_t place = 0;   // of the stack tree
    std::uint32_t levels = 1;  // largest number of levels of a recursion that ends here; 1: none
  };

  explicit FoldedTree(const StackTree& tree);

  // Parents come before their children.
  const std::vector<Node>& nodes() const { return nodes_; }
  // Returns the folded node of a node of the stack tree.
  std::uint32_t node_of(std::uint32_t node) const { return folded_[node]; }

 private:
  std::uint32_t child(std::uint32_t parent, std::uint32_t place);
  bool repeats(std::uint32_t node, std::uint32_t period, std::uint32_t& first) const;

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> folded_;                            // by node of the stack tree
  std::unordered_map<std::uint64_t, std::uint32_t> node_index_;  // parent and place → node
};

}  // namespace swipr::profile
