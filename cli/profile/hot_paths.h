// The heaviest part of the call tree of all threads together: few enough nodes to be read, with
// recursion folded. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/profile/names.h"
#include "cli/profile/recording.h"

namespace swipr::profile {

struct PathNode {
  std::string function;
  std::uint32_t depth = 0;  // 0: outermost
  std::uint64_t total = 0;
  std::uint64_t self = 0;
  std::uint32_t levels = 1;  // of recursion that is folded into this node; 1: none
};

struct HotPaths {
  std::vector<PathNode> nodes;  // parents before their children, heavier siblings first
  std::size_t left_out = 0;     // lighter nodes that are not among them
};

// What stands below a stack's innermost function for a state, such as "[poll]"; empty: nothing.
using StateName = std::function<std::string(State, std::uint32_t stack)>;

// At most `max_nodes`, and none that weighs nothing. `names` belongs to `recording`.
HotPaths hot_paths(const Recording& recording, const Names& names, Weight weight,
                   const StateName& state_name, std::size_t max_nodes);

}  // namespace swipr::profile
