#include "cli/profile/aggregate.h"

#include <unordered_map>

#include "cli/profile/sample_kind.h"

namespace swipr::profile {

std::vector<MergedStack> aggregate(const Recording& recording, AggregateOptions options) {
  std::vector<MergedStack> merged;
  std::unordered_map<SampleKind, std::size_t, SampleKindHash> known;
  for (const Sample& sample : recording.samples) {
    const SampleKind key{options.by_thread ? sample.thread : kNone, sample.stack,
                         options.by_state ? sample.state : State::kUnknown};
    const auto [place, is_new] = known.try_emplace(key, merged.size());
    if (is_new) merged.push_back({key.thread, key.stack, key.state, {}});
    Weights& weights = merged[place->second].weights;
    for (std::size_t index = 0; index < kWeightCount; ++index) {
      weights[index] += weight_of(sample, static_cast<Weight>(index));
    }
  }
  return merged;
}

}  // namespace swipr::profile
