#include "cli/export/formats/firefox_stacks.h"

namespace swipr::exporters {

using profile::kNone;

namespace {

constexpr std::uint32_t kCopy = 1u << 31;  // in the number of a copy, with its index

bool is_copy(std::uint32_t node) { return node != kNone && (node & kCopy) != 0; }

}  // namespace

std::uint32_t FirefoxStacks::marked(std::uint32_t node, profile::MachineWork work) {
  if (work == profile::MachineWork::kProgram) return node;
  std::vector<std::uint32_t> path;  // innermost first
  for (; node != kNone; node = tree_.nodes()[node].parent) {
    const profile::StackTree::Place& place = tree_.places()[tree_.nodes()[node].place];
    if (place.language != Language::kNative || place.is_collector || !place.is_code) break;
    path.push_back(node);
  }
  const unsigned category = kCollector - 1 + static_cast<unsigned>(work);
  for (auto at = path.rbegin(); at != path.rend(); ++at) {
    const auto [found, is_new] =
        index_.try_emplace({*at, category}, kCopy | static_cast<std::uint32_t>(copies_.size()));
    if (is_new) copies_.push_back({node, {tree_.nodes()[*at].place, category}});
    node = found->second;
  }
  return node;
}

std::vector<FirefoxStacks::Node> FirefoxStacks::finish(
    const std::function<unsigned(std::uint32_t)>& category_of_place) {
  for (std::uint32_t place = 0; place < tree_.places().size(); ++place) {
    frames_.push_back({place, category_of_place(place)});
  }
  std::map<std::pair<std::uint32_t, unsigned>, std::uint32_t> frame_index;
  std::vector<Node> nodes = tree_.nodes();
  for (const Copy& copy : copies_) {
    const auto [found, is_new] = frame_index.try_emplace(
        {copy.frame.place, copy.frame.category}, static_cast<std::uint32_t>(frames_.size()));
    if (is_new) frames_.push_back(copy.frame);
    nodes.push_back({number_of(copy.parent), found->second});
  }
  return nodes;
}

std::uint32_t FirefoxStacks::number_of(std::uint32_t node) const {
  if (!is_copy(node)) return node;
  return static_cast<std::uint32_t>(tree_.nodes().size()) + (node & ~kCopy);
}

}  // namespace swipr::exporters
