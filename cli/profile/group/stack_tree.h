// The stacks of a recording as a tree of functions, roots first; the base of flame graphs, call
// trees and formats with prefix tables. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

class StackTree {
 public:
  // Frames are merged if their functions are equal, or only if their lines are equal as well.
  enum class Detail : std::uint8_t { kFunction, kLine };

  struct Place {
    std::string function;
    std::uint32_t module = kNone;  // a module of the recording with this path
    std::string file;
    std::uint32_t start_line = 0;
    std::uint32_t line = 0;  // 0 with Detail::kFunction
    Language language = Language::kNative;
    bool is_code = true;        // false: a pseudo function such as "[no stack]"
    bool is_collector = false;  // of a runtime that collects garbage
  };
  struct Node {
    std::uint32_t parent = kNone;
    std::uint32_t place = 0;
  };

  // Lifetime: the arguments outlive the tree. They may grow; what is named later must not have been
  // asked for.
  StackTree(const Recording& recording, const Names& names, Detail detail);

  // The node of the innermost function of a stack; kNone: a sample without a stack.
  std::uint32_t node_of(std::uint32_t stack);
  // The node of a pseudo function below `parent`.
  std::uint32_t pseudo_child(std::uint32_t parent, std::string_view name);

  const std::vector<Place>& places() const { return places_; }
  // Parents come before their children.
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::uint32_t child(std::uint32_t parent, std::uint32_t place);
  std::uint32_t pseudo_place(std::string_view name);
  std::uint32_t place_of(const Frame& frame, const NamedFrame& named);
  std::uint32_t module_of(std::uint32_t module);
  const std::vector<std::uint32_t>& places_of(std::uint32_t frame);

  const Recording& recording_;
  const Names& names_;
  Detail detail_;
  std::vector<Place> places_;
  std::vector<Node> nodes_;
  std::unordered_map<std::string, std::uint32_t> place_index_;
  std::unordered_map<std::uint64_t, std::uint32_t> node_index_;  // parent and place → node
  std::vector<std::vector<std::uint32_t>> places_of_frame_;      // outermost first
  std::vector<std::uint32_t> node_of_stack_;                     // kNone: not yet computed
  std::unordered_map<std::string, std::uint32_t> module_of_path_;
  std::uint32_t known_modules_ = 0;
};

}  // namespace swipr::profile
