#include "cli/profile/tables/label_times.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace swipr::profile {

namespace {

void add(LabelTimes& sum, const LabelTimes& part) {
  sum.samples += part.samples;
  sum.cpu += part.cpu;
  sum.runqueue += part.runqueue;
  sum.blocked += part.blocked;
}

LabelTimes times_of(const Sample& sample) {
  const auto blocked = static_cast<std::int64_t>(weight_of(sample, Weight::kBlocked));
  return {{}, {}, sample.ticks, sample.cpu, sample.runqueue, std::chrono::nanoseconds(blocked)};
}

}  // namespace

std::vector<LabelTimes> label_times(const Recording& recording) {
  const auto& sets = recording.label_sets;
  std::vector<LabelTimes> by_set(sets.size() + 1);  // the last one: without labels
  for (const Sample& sample : recording.samples) {
    add(by_set[std::min<std::size_t>(sample.labels, sets.size())], times_of(sample));
  }
  std::map<std::pair<std::string, std::string>, LabelTimes> sums;
  std::map<std::string, LabelTimes> without;
  for (const LabelSet& set : sets) {
    for (const auto& [key, value] : set) without[key];
  }
  for (std::size_t index = 0; index < by_set.size(); ++index) {
    for (auto& [key, rest] : without) {
      const std::string* const value = index < sets.size() ? find_label(sets[index], key) : nullptr;
      add(value == nullptr ? rest : sums[{key, *value}], by_set[index]);
    }
  }
  std::vector<LabelTimes> times;
  for (auto& [label, sum] : sums) {
    std::tie(sum.key, sum.value) = label;
    times.push_back(std::move(sum));
  }
  for (auto& [key, rest] : without) {
    rest.key = key;
    times.push_back(std::move(rest));
  }
  std::erase_if(times, [](const LabelTimes& each) {
    return each.samples == 0 && (each.cpu + each.runqueue + each.blocked).count() == 0;
  });
  std::sort(times.begin(), times.end(), [](const LabelTimes& a, const LabelTimes& b) {
    return std::tuple(a.key, -a.cpu, -a.blocked, a.value) <
           std::tuple(b.key, -b.cpu, -b.blocked, b.value);
  });
  return times;
}

}  // namespace swipr::profile
