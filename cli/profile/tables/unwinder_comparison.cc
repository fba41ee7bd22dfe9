#include "cli/profile/tables/unwinder_comparison.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace swipr::profile {

namespace {

std::uint64_t total_of(const Process& process, std::string_view name) {
  const auto place = process.totals.find(std::string(name));
  return place == process.totals.end() ? 0 : place->second;
}

// What is called at this frame, inlined functions apart.
std::string function_at(const Names& names, const Stack& stack, std::size_t index) {
  if (index >= stack.frames.size()) return {};
  return std::string(names.frames[stack.frames[index]].back().function);
}

// The number of innermost frames that both have. By address: one of the two may not know that a
// frame's is exact.
std::size_t common_frames(const Recording& recording, const Stack& own, const Stack& other) {
  const auto same = [&recording](std::uint32_t left, std::uint32_t right) {
    return recording.frames[left].pc == recording.frames[right].pc;
  };
  const auto differs = std::mismatch(own.frames.begin(), own.frames.end(), other.frames.begin(),
                                     other.frames.end(), same);
  return static_cast<std::size_t>(differs.first - own.frames.begin());
}

}  // namespace

UnwinderComparison compare_unwinders(const Recording& recording, const Names& names) {
  UnwinderComparison sum;
  for (const Process& process : recording.processes) {
    sum.compared += total_of(process, "stacks_compared");
    sum.equal += total_of(process, "stacks_equal");
    sum.left_out += total_of(process, "differences_left_out");
    if (total_of(process, "unwinder_missing") != 0) sum.unwinder_is_missing = true;
  }
  std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> counts;
  for (const Difference& difference : recording.differences) {
    const Stack& own = recording.stacks[difference.stack];
    const Stack& other = recording.stacks[difference.other];
    const std::size_t common = common_frames(recording, own, other);
    if (common == other.frames.size()) {
      sum.other_ends_early += difference.count;
    } else if (common == own.frames.size()) {
      sum.own_ends_early += difference.count;
    } else {
      sum.different += difference.count;
    }
    counts[{common == 0 ? std::string() : function_at(names, own, common - 1),
            function_at(names, own, common), function_at(names, other, common)}] +=
        difference.count;
  }
  for (const auto& [place, count] : counts) {
    sum.differences.push_back({std::get<0>(place), std::get<1>(place), std::get<2>(place), count});
  }
  std::stable_sort(sum.differences.begin(), sum.differences.end(),
                   [](const auto& left, const auto& right) { return left.count > right.count; });
  return sum;
}

}  // namespace swipr::profile
