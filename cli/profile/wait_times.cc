#include "cli/profile/wait_times.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace swipr::profile {

std::vector<WaitTimes> wait_times(const Recording& recording) {
  std::map<std::uint32_t, WaitTimes> by_syscall;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;  // system call and thread
  for (const Sample& sample : recording.samples) {
    if (sample.state != State::kBlocked) continue;
    const std::uint32_t syscall =
        sample.stack == kNone ? kNone : recording.stacks[sample.stack].wait_syscall;
    WaitTimes& times = by_syscall[syscall];
    times.syscall = syscall;
    times.samples += sample.ticks;
    times.blocked += std::chrono::nanoseconds(weight_of(sample, Weight::kBlocked));
    if (seen.emplace(syscall, sample.thread).second) ++times.threads;
  }
  std::vector<WaitTimes> result;
  for (const auto& [syscall, times] : by_syscall) result.push_back(times);
  std::stable_sort(result.begin(), result.end(),
                   [](const WaitTimes& a, const WaitTimes& b) { return a.blocked > b.blocked; });
  return result;
}

}  // namespace swipr::profile
