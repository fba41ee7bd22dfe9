#include "cli/profile/aggregate.h"

#include <unordered_map>

namespace swipr::profile {

namespace {
struct Key {
  std::uint32_t thread;
  std::uint32_t stack;
  State state;
  friend bool operator==(const Key&, const Key&) = default;
};

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    const std::uint64_t both = (std::uint64_t{key.thread} << 32) | key.stack;
    // Fibonacci hashing: neighbouring indexes spread over the whole table.
    return (both * 4 + static_cast<std::uint64_t>(key.state)) * 0x9E3779B97F4A7C15u >> 16;
  }
};
}  // namespace

std::vector<MergedStack> aggregate(const Recording& recording, AggregateOptions options) {
  std::vector<MergedStack> merged;
  std::unordered_map<Key, std::size_t, KeyHash> known;
  for (const Sample& sample : recording.samples) {
    const Key key{options.by_thread ? sample.thread : kNone, sample.stack,
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
