#include "cli/profile/tables/collector_weight.h"

#include <algorithm>
#include <vector>

namespace swipr::profile {

namespace {

// By stack.
std::vector<bool> collecting_stacks(const Recording& recording) {
  const auto is_collector = [&recording](std::uint32_t frame) {
    const std::uint32_t function = recording.frames[frame].function;
    return function != kNone && recording.functions[function].is_collector;
  };
  std::vector<bool> result;
  for (const Stack& stack : recording.stacks) {
    result.push_back(std::any_of(stack.frames.begin(), stack.frames.end(), is_collector));
  }
  return result;
}

}  // namespace

std::uint64_t collector_weight(const Recording& recording, Weight weight) {
  const std::vector<bool> is_collecting = collecting_stacks(recording);
  std::uint64_t sum = 0;
  for (const Sample& sample : recording.samples) {
    if (sample.stack != kNone && is_collecting[sample.stack]) sum += weight_of(sample, weight);
  }
  return sum;
}

}  // namespace swipr::profile
