#include "cli/profile/tables/task_waits.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace swipr::profile {

namespace {

std::string chain_of(const Stack& stack, const Names& names) {
  constexpr std::size_t kMostFrames = 8;
  const std::size_t count = std::min(stack.frames.size(), kMostFrames);
  std::string chain = count < stack.frames.size() ? "…" : "";
  for (std::size_t at = count; at-- > 0;) {
    if (!chain.empty()) chain += " → ";
    chain += names.frames[stack.frames[at]].front().function;
  }
  return chain;
}

}  // namespace

std::vector<TaskWaits> task_waits(const Recording& recording, const Names& names) {
  std::unordered_map<std::uint32_t, std::string> chains;  // by stack
  std::map<std::string, TaskWaits> by_chain;
  std::set<std::pair<const TaskWaits*, std::uint32_t>> seen;  // chain and thread
  for (const Sample& sample : recording.samples) {
    if (sample.stack == kNone) continue;
    const Stack& stack = recording.stacks[sample.stack];
    if (stack.runtime_wait != RuntimeWait::kAwait) continue;
    const auto [chain, is_new] = chains.try_emplace(sample.stack);
    if (is_new) chain->second = chain_of(stack, names);
    TaskWaits& waits = by_chain[chain->second];
    waits.samples += sample.ticks;
    waits.waited += std::chrono::nanoseconds(weight_of(sample, Weight::kBlocked));
    if (seen.emplace(&waits, sample.thread).second) ++waits.tasks;
  }
  std::vector<TaskWaits> result;
  for (auto& [chain, waits] : by_chain) {
    result.push_back(waits);
    result.back().chain = chain;
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const TaskWaits& a, const TaskWaits& b) { return a.waited > b.waited; });
  return result;
}

}  // namespace swipr::profile
