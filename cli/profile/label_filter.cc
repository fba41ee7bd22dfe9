#include <fnmatch.h>

#include <algorithm>
#include <map>

#include "cli/profile/filter.h"

namespace swipr::profile {

namespace {

struct Wanted {
  std::vector<std::string> patterns;  // of values; one has to match
};

bool matches(const Wanted& wanted, const std::string* value) {
  const char* const text = value == nullptr ? "" : value->c_str();
  return std::any_of(
      wanted.patterns.begin(), wanted.patterns.end(),
      [text](const std::string& pattern) { return ::fnmatch(pattern.c_str(), text, 0) == 0; });
}

}  // namespace

void select_labels(Recording& recording, const std::vector<std::string>& keys) {
  std::map<LabelSet, std::uint32_t> numbers;
  std::vector<LabelSet> sets;
  std::vector<std::uint32_t> new_numbers;
  for (LabelSet& set : recording.label_sets) {
    std::erase_if(set, [&keys](const auto& label) {
      return std::find(keys.begin(), keys.end(), label.first) == keys.end();
    });
    const auto [place, is_new] =
        numbers.try_emplace(set, set.empty() ? kNone : static_cast<std::uint32_t>(sets.size()));
    new_numbers.push_back(place->second);
    if (is_new && !set.empty()) sets.push_back(std::move(set));
  }
  for (Sample& sample : recording.samples) {
    if (sample.labels != kNone) sample.labels = new_numbers[sample.labels];
  }
  recording.label_sets = std::move(sets);
}

void keep_labels(Recording& recording, const std::vector<LabelPattern>& labels) {
  if (labels.empty()) return;
  std::map<std::string, Wanted> wanted;
  for (const LabelPattern& label : labels) wanted[label.key].patterns.push_back(label.pattern);
  const auto is_wanted = [&wanted](const LabelSet& set) {
    return std::all_of(wanted.begin(), wanted.end(), [&set](const auto& key) {
      return matches(key.second, find_label(set, key.first));
    });
  };
  std::vector<bool> matching;
  for (const LabelSet& set : recording.label_sets) matching.push_back(is_wanted(set));
  const bool keeps_unlabelled = is_wanted({});
  std::erase_if(recording.samples, [&](const Sample& sample) {
    return sample.labels == kNone ? !keeps_unlabelled : !matching[sample.labels];
  });
}

}  // namespace swipr::profile
