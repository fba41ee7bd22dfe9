// The stacks and frames of a Firefox profile: those of a tree, and copies of them for what language
// runtimes do for themselves. Categories belong to frames, and a function such as memcpy is called
// by the program and by a collector.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "cli/profile/group/stack_tree.h"
#include "cli/profile/tables/machine_work.h"

namespace swipr::exporters {

// A stack has the category of its innermost frame.
enum Category : unsigned {
  kOnCpu,
  kWaitingForCpu,
  kBlocked,
  kNotKnown,
  kCollector,  // this and the next two in the order of MachineWork
  kCompiler,
  kMachine,
  kFirstLanguage,
};

struct FirefoxFrame {
  std::uint32_t place = 0;  // of the tree
  unsigned category = kOnCpu;
};

class FirefoxStacks {
 public:
  using Node = profile::StackTree::Node;

  // Lifetime: `tree` outlives this, and may grow until finish().
  explicit FirefoxStacks(const profile::StackTree& tree) : tree_(tree) {}

  // The same stack with the category of that work in the native frames at its inner end.
  std::uint32_t marked(std::uint32_t node, profile::MachineWork work);

  // All nodes, with the index of a frame as their place. Parents come before their children.
  std::vector<Node> finish(const std::function<unsigned(std::uint32_t)>& category_of_place);
  // After finish(): the index of what marked() returned.
  std::uint32_t number_of(std::uint32_t node) const;
  const std::vector<FirefoxFrame>& frames() const { return frames_; }

 private:
  struct Copy {
    std::uint32_t parent = profile::kNone;
    FirefoxFrame frame;
  };

  const profile::StackTree& tree_;
  std::vector<Copy> copies_;
  std::map<std::pair<std::uint32_t, unsigned>, std::uint32_t> index_;  // node, category → number
  std::vector<FirefoxFrame> frames_;
};

}  // namespace swipr::exporters
