#include "cli/export/formats/collapsed_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "cli/export/text/text.h"

namespace swipr::exporters {

namespace {

// The suffixes that readers of gProfiler's stacks know.
std::string_view suffix_of(const profile::NamedFrame& frame) {
  switch (frame.language) {
    case Language::kPython:
      return "_[p]";
    case Language::kJava:
      if (frame.execution == Execution::kInterpreted) return "_[0]";
      return frame.execution == Execution::kInlined ? "_[i]" : "_[j]";
    case Language::kJavaScript:
      return "_[js]";
    case Language::kRuby:
      return "_[rb]";
    case Language::kPhp:
      return "_[php]";
    case Language::kPerl:
      return "_[pl]";
    case Language::kR:
      return "_[r]";
    case Language::kLua:
      return "_[lua]";
    case Language::kDotNet:
      return "_[net]";
    case Language::kNative:
    case Language::kErlang:
      break;
  }
  return "";
}
constexpr std::string_view kNativeBesidePython = "_[pn]";

}  // namespace

std::string frame_text(std::string_view name) {
  std::string text = clean_text(name);
  std::replace(text.begin(), text.end(), ';', ':');
  return text;
}

std::uint32_t Texts::find(std::string text) {
  const auto next = static_cast<std::uint32_t>(texts_.size());
  const auto [place, is_new] = numbers_.try_emplace(std::move(text), next);
  if (is_new) texts_.push_back(place->first);
  return place->second;
}

std::vector<std::uint32_t> Texts::places() const {
  std::vector<std::uint32_t> order(texts_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [this](std::uint32_t a, std::uint32_t b) { return texts_[a] < texts_[b]; });
  std::vector<std::uint32_t> places(order.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) places[order[place]] = place;
  return places;
}

CollapsedStacks::CollapsedStacks(const profile::Recording& recording, const profile::Names& names,
                                 const Options& options)
    : recording_(recording),
      options_(options),
      rests_of_stacks_(recording.stacks.size(), profile::kNone) {
  for (std::uint32_t index = 0; index < names.frames.size(); ++index) {
    const profile::FrameNames& frame = names.frames[index];
    const std::string module = module_text(index);
    texts_of_frames_.push_back(text_of(frame, module));
    if (!options.frame_kinds) continue;
    texts_beside_python_.push_back(text_of(frame, module + std::string(kNativeBesidePython)));
    is_python_.push_back(frame.front().language == Language::kPython);
  }
}

// Roots contain no semicolon but the last, so the root decides before the rest.
std::vector<CollapsedStacks::Line> CollapsedStacks::collect(profile::Weight weight,
                                                            const RootOf& root_of) {
  const bool by_state = options_.state_frames == StateFrames::kYes;
  std::vector<Line> lines;
  for (const auto& merged :
       profile::aggregate(recording_, {.by_thread = true, .by_state = by_state})) {
    const std::uint64_t value = merged.weights[profile::index_of(weight)];
    if (value == 0) continue;
    const profile::Thread& thread = recording_.threads[merged.thread];
    Line& line = lines.emplace_back();
    line.root = roots_.find(root_of(thread));
    line.rest = rest_of(merged);
    (options_.is_base(thread) ? line.base : line.own) = value;
  }
  const std::vector<std::uint32_t> root_places = roots_.places();
  const std::vector<std::uint32_t> rest_places = rests_.places();
  for (Line& line : lines) {
    line.place = (std::uint64_t{root_places[line.root]} << 32) | rest_places[line.rest];
  }
  std::sort(lines.begin(), lines.end(),
            [](const Line& a, const Line& b) { return a.place < b.place; });
  std::size_t last = 0;
  for (std::size_t index = 1; index < lines.size(); ++index) {
    if (lines[index].place != lines[last].place) {
      lines[++last] = lines[index];
    } else {
      lines[last].base += lines[index].base;
      lines[last].own += lines[index].own;
    }
  }
  if (!lines.empty()) lines.resize(last + 1);
  return lines;
}

std::uint32_t CollapsedStacks::rest_of(const profile::MergedStack& merged) {
  const std::string state = state_frame(recording_, merged.state, merged.stack);
  if (!state.empty()) {
    return rests_.find(fmt::format("{};{}", stack_text(merged.stack), frame_text(state)));
  }
  if (merged.stack == profile::kNone) return rests_.find(stack_text(merged.stack));
  std::uint32_t& rest = rests_of_stacks_[merged.stack];
  if (rest == profile::kNone) rest = rests_.find(stack_text(merged.stack));
  return rest;
}

// " (/lib/libc.so.6)"
std::string CollapsedStacks::module_text(std::uint32_t frame) const {
  const std::uint32_t module = recording_.frames[frame].module;
  if (!options_.module_names || module == profile::kNone) return {};
  return fmt::format(" ({})", frame_text(recording_.modules[module].path));
}

// ";outer;inlined into it"
std::string CollapsedStacks::text_of(const profile::FrameNames& frame,
                                     std::string_view native_suffix) const {
  std::string text;
  for (auto named = frame.rbegin(); named != frame.rend(); ++named) {
    text.append(1, ';').append(frame_text(named->function));
    if (is_native(*named)) {
      text += native_suffix;
    } else if (options_.frame_kinds) {
      text += suffix_of(*named);
    }
  }
  return text;
}

// "outer;…;inner"
std::string CollapsedStacks::stack_text(std::uint32_t stack) const {
  if (stack == profile::kNone || recording_.stacks[stack].frames.empty()) {
    return std::string(kNoStack);
  }
  const profile::Stack& entry = recording_.stacks[stack];
  std::string text;
  const auto add_gap = [&text] { text.append(1, ';').append(kOmittedFrames); };
  const bool has_python = options_.frame_kinds &&
                          std::any_of(entry.frames.begin(), entry.frames.end(),
                                      [this](std::uint32_t frame) { return is_python_[frame]; });
  const std::vector<std::string>& texts = has_python ? texts_beside_python_ : texts_of_frames_;
  if (entry.omitted_at == entry.frames.size()) add_gap();
  for (std::size_t index = entry.frames.size(); index-- > 0;) {
    text += texts[entry.frames[index]];
    if (index == entry.omitted_at) add_gap();
  }
  return text.substr(1);
}

}  // namespace swipr::exporters
