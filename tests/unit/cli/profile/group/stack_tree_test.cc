#include "cli/profile/group/stack_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/golden/golden_recording.h"

namespace swipr::profile {
namespace {

// "root;…;innermost"
std::string path_of(const StackTree& tree, std::uint32_t node) {
  std::string path;
  for (; node != kNone; node = tree.nodes()[node].parent) {
    path = tree.places()[tree.nodes()[node].place].function + (path.empty() ? "" : ";") + path;
  }
  return path;
}

TEST(StackTree, BeginsAtTheRootAndExpandsInlinedFunctions) {
  const golden::Golden input = golden::make_golden();
  StackTree tree(input.recording, input.names, StackTree::Detail::kFunction);
  EXPECT_EQ(path_of(tree, tree.node_of(0)),
            "_start;main;(anonymous namespace)::burn(std::vector<int> const&);mix(unsigned int)");
  EXPECT_EQ(tree.nodes().size(), 4u);
}

TEST(StackTree, SharesWhatStacksHaveInCommon) {
  const golden::Golden input = golden::make_golden();
  StackTree tree(input.recording, input.names, StackTree::Detail::kFunction);
  tree.node_of(0);
  const std::size_t before = tree.nodes().size();
  EXPECT_EQ(path_of(tree, tree.node_of(1)), "_start;main;Handle<Job>::operator->() const;__poll");
  EXPECT_EQ(tree.nodes().size(), before + 2);
  EXPECT_EQ(tree.node_of(1), tree.node_of(1));
  EXPECT_EQ(tree.nodes().size(), before + 2);
}

TEST(StackTree, ShowsWhereFramesAreMissing) {
  const golden::Golden input = golden::make_golden();
  StackTree tree(input.recording, input.names, StackTree::Detail::kFunction);
  EXPECT_EQ(path_of(tree, tree.node_of(3)).find("_start;main;[frames omitted];(anonymous"), 0u);
  const std::uint32_t none = tree.node_of(kNone);
  EXPECT_EQ(path_of(tree, none), "[no stack]");
  EXPECT_FALSE(tree.places()[tree.nodes()[none].place].is_code);
  EXPECT_EQ(path_of(tree, tree.pseudo_child(none, "[poll]")), "[no stack];[poll]");
}

TEST(StackTree, TellsLinesApartWhereAskedTo) {
  golden::Golden input = golden::make_golden();
  input.recording.frames.push_back(input.recording.frames[1]);
  input.names.frames.push_back(input.names.frames[1]);  // main, once more, in another line
  input.names.frames.back()[0].line = 41;
  const auto other = static_cast<std::uint32_t>(input.recording.frames.size() - 1);
  input.recording.stacks.push_back({{other, 0}, kNone, "", true});
  for (const auto detail : {StackTree::Detail::kFunction, StackTree::Detail::kLine}) {
    StackTree tree(input.recording, input.names, detail);
    const std::uint32_t burn = tree.node_of(0);
    const std::uint32_t in_other_line = tree.node_of(4);
    const std::uint32_t main = tree.nodes()[tree.nodes()[burn].parent].parent;
    EXPECT_EQ(main == in_other_line, detail == StackTree::Detail::kFunction);
  }
}

}  // namespace
}  // namespace swipr::profile
