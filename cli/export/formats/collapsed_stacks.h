// Stacks as lines of text, sorted: what the formats collapsed and col have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/export/formats/export.h"
#include "cli/profile/group/aggregate.h"

namespace swipr::exporters {

// A name as one frame of a line: without control characters, ";" replaced.
std::string frame_text(std::string_view name);

// Distinct texts by number, and their order.
class Texts {
 public:
  std::uint32_t find(std::string text);
  std::string_view text(std::uint32_t number) const { return texts_[number]; }
  // Rank of each text in sorted order, by number.
  std::vector<std::uint32_t> places() const;

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::string_view> texts_;
};

class CollapsedStacks {
 public:
  // A line as two numbers, because there may be as many lines as threads times stacks.
  struct Line {
    std::uint64_t place = 0;  // sort key: rank of the root, then of the rest
    std::uint32_t root = 0;
    std::uint32_t rest = 0;
    std::uint64_t base = 0;
    std::uint64_t own = 0;
  };
  // The text of a thread before its stack; ends in ";".
  using RootOf = std::function<std::string(const profile::Thread&)>;

  CollapsedStacks(const profile::Recording& recording, const profile::Names& names,
                  const Options& options);

  // Each distinct line once, sorted; without those of weight 0.
  std::vector<Line> collect(profile::Weight weight, const RootOf& root_of);
  std::string_view root(const Line& line) const { return roots_.text(line.root); }
  std::string_view rest(const Line& line) const { return rests_.text(line.rest); }

 private:
  std::uint32_t rest_of(const profile::MergedStack& merged);
  std::string module_text(std::uint32_t frame) const;
  std::string text_of(const profile::FrameNames& frame, std::string_view native_suffix) const;
  std::string stack_text(std::uint32_t stack) const;

  const profile::Recording& recording_;
  const Options& options_;
  std::vector<std::string> texts_of_frames_;
  std::vector<std::string> texts_beside_python_;  // only with frame_kinds
  std::vector<bool> is_python_;                   // by frame; only with frame_kinds
  Texts roots_;
  Texts rests_;
  std::vector<std::uint32_t> rests_of_stacks_;  // without a state; kNone: not yet computed
};

}  // namespace swipr::exporters
