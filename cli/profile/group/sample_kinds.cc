#include "cli/profile/group/sample_kinds.h"

#include <algorithm>
#include <numeric>

namespace swipr::profile {

std::vector<std::uint32_t> samples_by_stack(const Recording& recording) {
  const std::size_t without = recording.stacks.size();
  const auto place_of = [without](const Sample& sample) {
    return sample.stack == kNone ? without : sample.stack;
  };
  std::vector<std::uint32_t> ends(without + 1);  // of each stack's samples, first: of those before
  for (const Sample& sample : recording.samples) {
    if (const std::size_t place = place_of(sample); place != without) ++ends[place + 1];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::uint32_t> order(recording.samples.size());
  for (std::uint32_t index = 0; index < order.size(); ++index) {
    order[ends[place_of(recording.samples[index])]++] = index;
  }
  return order;
}

}  // namespace swipr::profile
