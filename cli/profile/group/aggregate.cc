#include "cli/profile/group/aggregate.h"

#include <cstddef>
#include <set>
#include <tuple>

namespace swipr::profile {

std::vector<MergedStack> aggregate(const Recording& recording, AggregateOptions options) {
  std::vector<MergedStack> merged;
  for_each_by_kind(recording, options, [&](std::uint32_t index, std::uint32_t kind, bool is_new) {
    const Sample& sample = recording.samples[index];
    if (is_new) {
      merged.push_back({options.by_thread ? sample.thread : kNone,
                        sample.stack,
                        options.by_state ? sample.state : State::kUnknown,
                        options.by_labels ? sample.labels : kNone,
                        {}});
    }
    for (std::size_t weight = 0; weight < kWeightCount; ++weight) {
      merged[kind].weights[weight] += weight_of(sample, static_cast<Weight>(weight));
    }
  });
  return merged;
}

void merge_equal_frames(const Recording& recording, std::vector<MergedStack>& merged) {
  static const std::vector<std::uint32_t> kNoFrames;
  const auto frames_of = [&](const MergedStack& entry) -> const std::vector<std::uint32_t>& {
    return entry.stack == kNone ? kNoFrames : recording.stacks[entry.stack].frames;
  };
  const auto rest_of = [&](const MergedStack& entry) {
    const bool has_stack = entry.stack != kNone;
    return std::tuple(has_stack, has_stack ? recording.stacks[entry.stack].omitted_at : kNone,
                      entry.thread, entry.state, entry.labels);
  };
  const auto is_less = [&](std::size_t left, std::size_t right) {
    const auto left_rest = rest_of(merged[left]);
    const auto right_rest = rest_of(merged[right]);
    return left_rest != right_rest ? left_rest < right_rest
                                   : frames_of(merged[left]) < frames_of(merged[right]);
  };
  std::set<std::size_t, decltype(is_less)> kept(is_less);
  std::vector<bool> is_merged(merged.size());
  for (std::size_t at = 0; at < merged.size(); ++at) {
    const auto [first, is_new] = kept.insert(at);
    if (is_new) continue;
    is_merged[at] = true;
    for (std::size_t weight = 0; weight < kWeightCount; ++weight) {
      merged[*first].weights[weight] += merged[at].weights[weight];
    }
  }
  std::size_t end = 0;
  for (std::size_t at = 0; at < merged.size(); ++at) {
    if (!is_merged[at]) merged[end++] = merged[at];
  }
  merged.resize(end);
}

}  // namespace swipr::profile
