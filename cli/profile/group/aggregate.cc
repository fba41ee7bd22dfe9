#include "cli/profile/group/aggregate.h"

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

}  // namespace swipr::profile
