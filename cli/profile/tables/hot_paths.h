// The heaviest part of the call tree of all threads, limited in size, with recursion folded. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

struct PathNode {
  std::string function;
  std::uint32_t depth = 0;  // 0: outermost
  std::uint64_t total = 0;
  std::uint64_t self = 0;
  std::uint32_t levels = 1;  // levels of recursion folded into this node; 1: none
  Language language = Language::kNative;
};

struct HotPaths {
  std::vector<PathNode> nodes;  // parents before their children, heavier siblings first
  std::size_t left_out = 0;     // number of lighter nodes
};

// The frame below the innermost function of a stack for a state, such as "[poll]"; empty: none.
using StateName = std::function<std::string(State, std::uint32_t stack)>;

// Returns at most `max_nodes` nodes, none without weight. `names` belongs to `recording`.
HotPaths hot_paths(const Recording& recording, const Names& names, Weight weight,
                   const StateName& state_name, std::size_t max_nodes);

}  // namespace swipr::profile
