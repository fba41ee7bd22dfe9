#include "cli/profile/group/stack_tree.h"

namespace swipr::profile {

namespace {
// Names come from C strings and contain no zero bytes.
std::string key_of(std::string_view function, std::string_view module, std::string_view file,
                   std::uint32_t line) {
  std::string key(function);
  key += '\0';
  key += module;
  key += '\0';
  key += file;
  key += '\0';
  key += std::to_string(line);
  return key;
}
}  // namespace

StackTree::StackTree(const Recording& recording, const Names& names, Detail detail)
    : recording_(recording), names_(names), detail_(detail) {}

std::uint32_t StackTree::node_of(std::uint32_t stack) {
  if (stack == kNone || recording_.stacks[stack].frames.empty()) {
    return pseudo_child(kNone, kNoStack);
  }
  if (stack >= node_of_stack_.size()) node_of_stack_.resize(recording_.stacks.size(), kNone);
  if (node_of_stack_[stack] != kNone) return node_of_stack_[stack];
  const Stack& entry = recording_.stacks[stack];
  std::uint32_t node = kNone;
  if (entry.omitted_at == entry.frames.size()) node = pseudo_child(node, kOmittedFrames);
  for (std::size_t index = entry.frames.size(); index-- > 0;) {
    for (std::uint32_t place : places_of(entry.frames[index])) node = child(node, place);
    if (index == entry.omitted_at) node = pseudo_child(node, kOmittedFrames);
  }
  return node_of_stack_[stack] = node;
}

std::uint32_t StackTree::pseudo_child(std::uint32_t parent, std::string_view name) {
  return child(parent, pseudo_place(name));
}

std::uint32_t StackTree::child(std::uint32_t parent, std::uint32_t place) {
  const std::uint64_t key = (std::uint64_t{parent} << 32) | place;
  const auto [found, is_new] =
      node_index_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
  if (is_new) nodes_.push_back({parent, place});
  return found->second;
}

std::uint32_t StackTree::pseudo_place(std::string_view name) {
  const auto [found, is_new] = place_index_.try_emplace(key_of(name, {}, {}, kNone),
                                                        static_cast<std::uint32_t>(places_.size()));
  if (is_new) {
    Place& place = places_.emplace_back();
    place.function = name;
    place.is_code = false;
  }
  return found->second;
}

std::uint32_t StackTree::place_of(const Frame& frame, const NamedFrame& named) {
  const std::uint32_t module = frame.module == kNone ? kNone : module_of(frame.module);
  const std::uint32_t line = detail_ == Detail::kLine ? named.line : 0;
  const auto [found, is_new] = place_index_.try_emplace(
      key_of(named.function, module == kNone ? "" : recording_.modules[module].path, named.file,
             line),
      static_cast<std::uint32_t>(places_.size()));
  if (is_new) {
    places_.push_back({std::string(named.function), module, std::string(named.file),
                       named.start_line, line, named.language});
    places_.back().is_collector =
        frame.function != kNone && recording_.functions[frame.function].is_collector;
  }
  return found->second;
}

// A library in two processes, or mapped in several parts, is one library.
std::uint32_t StackTree::module_of(std::uint32_t module) {
  for (; known_modules_ < recording_.modules.size(); ++known_modules_) {
    module_of_path_.try_emplace(recording_.modules[known_modules_].path, known_modules_);
  }
  return module_of_path_.at(recording_.modules[module].path);
}

const std::vector<std::uint32_t>& StackTree::places_of(std::uint32_t frame) {
  if (frame >= places_of_frame_.size()) places_of_frame_.resize(recording_.frames.size());
  std::vector<std::uint32_t>& places = places_of_frame_[frame];
  const FrameNames& names = names_.frames[frame];
  for (std::size_t index = names.size(); places.size() < names.size();) {
    places.push_back(place_of(recording_.frames[frame], names[--index]));
  }
  return places;
}

}  // namespace swipr::profile
