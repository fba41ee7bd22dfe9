#include "cli/profile/tables/gil_waits.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace swipr::profile {

namespace {

using Place = std::pair<std::uint32_t, Tid>;  // process and thread

// The stack of a thread that waits for a GIL; nullptr: the sample is another.
const Stack* gil_wait(const Recording& recording, const Sample& sample) {
  if (sample.state != State::kBlocked || sample.stack == kNone) return nullptr;
  const Stack& stack = recording.stacks[sample.stack];
  return stack.runtime_wait == RuntimeWait::kGil ? &stack : nullptr;
}

// The samples of each thread that held a GIL, in order of time.
class Holders {
 public:
  explicit Holders(const Recording& recording) {
    for (const Sample& sample : recording.samples) {
      if (const Stack* const stack = gil_wait(recording, sample)) {
        samples_[{recording.threads[sample.thread].process, stack->holder}];
      }
    }
    if (samples_.empty()) return;
    for (const Sample& sample : recording.samples) {
      const Thread& thread = recording.threads[sample.thread];
      const auto holder = samples_.find({thread.process, thread.tid});
      if (holder != samples_.end()) holder->second.push_back(&sample);
    }
  }

  // The sample of that thread that covers this moment; nullptr: none does.
  const Sample* find(Place thread, std::chrono::nanoseconds time) const {
    const auto found = samples_.find(thread);
    if (found == samples_.end()) return nullptr;
    const auto sample = std::lower_bound(
        found->second.begin(), found->second.end(), time,
        [](const Sample* left, std::chrono::nanoseconds right) { return left->time < right; });
    if (sample == found->second.end() || (*sample)->time - (*sample)->wall > time) return nullptr;
    return *sample;
  }

 private:
  std::map<Place, std::vector<const Sample*>> samples_;
};

std::string_view innermost_function(const Recording& recording, const Names& names,
                                    const Sample* sample) {
  if (sample == nullptr || sample->stack == kNone) return {};
  for (const std::uint32_t frame : recording.stacks[sample->stack].frames) {
    const NamedFrame& named = names.frames[frame].front();
    if (!is_native(named)) return named.function;
  }
  return {};
}

}  // namespace

GilWaits gil_waits(const Recording& recording, const Names& names) {
  GilWaits result;
  const Holders holders(recording);
  std::map<std::string_view, std::chrono::nanoseconds> by_function;
  std::vector<bool> waited(recording.threads.size());
  for (const Sample& sample : recording.samples) {
    const Stack* const stack = gil_wait(recording, sample);
    if (stack == nullptr) continue;
    waited[sample.thread] = true;
    const std::chrono::nanoseconds time(weight_of(sample, Weight::kBlocked));
    result.waited += time;
    const Sample* const holder =
        holders.find({recording.threads[sample.thread].process, stack->holder}, sample.time);
    by_function[innermost_function(recording, names, holder)] += time;
  }
  for (const Sample& sample : recording.samples) {
    if (waited[sample.thread]) result.running += sample.cpu;
  }
  for (const auto& [function, time] : by_function) {
    result.holders.push_back({std::string(function), time});
  }
  std::stable_sort(result.holders.begin(), result.holders.end(),
                   [](const GilHolder& a, const GilHolder& b) { return a.waited > b.waited; });
  return result;
}

}  // namespace swipr::profile
