#include "cli/profile/tables/lock_waits.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace swipr::profile {

namespace {

using Place = std::pair<std::uint32_t, Tid>;  // process and thread

// The stack of a thread that waits for such a lock; nullptr: the sample is another.
const Stack* lock_wait(const Recording& recording, RuntimeWait kind, const Sample& sample) {
  if (sample.state != State::kBlocked || sample.stack == kNone) return nullptr;
  const Stack& stack = recording.stacks[sample.stack];
  return stack.runtime_wait == kind ? &stack : nullptr;
}

// The samples of each thread that held such a lock, in order of time.
class Holders {
 public:
  Holders(const Recording& recording, RuntimeWait kind) {
    for (const Sample& sample : recording.samples) {
      if (const Stack* const stack = lock_wait(recording, kind, sample)) {
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

LockWaits lock_waits(const Recording& recording, const Names& names, RuntimeWait kind) {
  LockWaits result;
  const Holders holders(recording, kind);
  using TypeAndFunction = std::pair<std::string_view, std::string_view>;
  std::map<TypeAndFunction, std::chrono::nanoseconds> by_holder;
  std::vector<bool> waited(recording.threads.size());
  for (const Sample& sample : recording.samples) {
    const Stack* const stack = lock_wait(recording, kind, sample);
    if (stack == nullptr) continue;
    waited[sample.thread] = true;
    const std::chrono::nanoseconds time(weight_of(sample, Weight::kBlocked));
    result.waited += time;
    const Sample* const holder =
        holders.find({recording.threads[sample.thread].process, stack->holder}, sample.time);
    by_holder[{stack->wait_type, innermost_function(recording, names, holder)}] += time;
  }
  for (const Sample& sample : recording.samples) {
    if (waited[sample.thread]) result.running += sample.cpu;
  }
  for (const auto& [holder, time] : by_holder) {
    result.holders.push_back({std::string(holder.first), std::string(holder.second), time});
  }
  std::stable_sort(result.holders.begin(), result.holders.end(),
                   [](const LockHolder& a, const LockHolder& b) { return a.waited > b.waited; });
  return result;
}

}  // namespace swipr::profile
