#include "cli/profile/tables/wait_times.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace swipr::profile {

std::vector<WaitTimes> wait_times(const Recording& recording) {
  using CallPlace = std::pair<std::string_view, std::string_view>;  // system call and channel
  std::map<CallPlace, WaitTimes> by_place;
  std::set<std::pair<CallPlace, std::uint32_t>> seen;  // place and thread
  for (const Sample& sample : recording.samples) {
    if (sample.state != State::kBlocked) continue;
    CallPlace place;
    if (sample.stack != kNone) {
      const Stack& stack = recording.stacks[sample.stack];
      if (stack.runtime_wait == RuntimeWait::kAwait) continue;  // no thread
      place = {stack.wait_syscall, stack.wait_channel};
    }
    WaitTimes& times = by_place[place];
    times.syscall = place.first;
    times.channel = place.second;
    times.samples += sample.ticks;
    times.blocked += std::chrono::nanoseconds(weight_of(sample, Weight::kBlocked));
    if (seen.emplace(place, sample.thread).second) ++times.threads;
  }
  std::vector<WaitTimes> result;
  for (const auto& [place, times] : by_place) result.push_back(times);
  std::stable_sort(result.begin(), result.end(),
                   [](const WaitTimes& a, const WaitTimes& b) { return a.blocked > b.blocked; });
  return result;
}

}  // namespace swipr::profile
