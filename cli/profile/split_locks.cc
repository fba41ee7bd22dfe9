#include "cli/profile/split_locks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "cli/profile/tables/lock_holders.h"
#include "cli/profile/tables/lock_waits.h"

namespace swipr::profile {

namespace {

struct WaitingSample {
  const Sample* sample;
  CallPart part;
  const LockWait* wait;
  Place holder;
};

// The samples of both parts that wait for a lock.
class WaitingSamples {
 public:
  WaitingSamples(const Recording& recording, const Names& names, const CallSplit& split) {
    for (const Sample& sample : recording.samples) {
      if (sample.state != State::kBlocked || sample.stack == kNone) continue;
      const CallPart part = split.part_of(sample);
      if (part != CallPart::kSlow && part != CallPart::kNormal) continue;
      const auto [found, is_new] = waits_.try_emplace(sample.stack);
      if (is_new) found->second = find_lock_wait(recording, names, sample.stack);
      if (!found->second) continue;
      const Place holder{recording.threads[sample.thread].process, found->second->holder};
      samples_.push_back({&sample, part, &*found->second, holder});
    }
  }

  const std::vector<WaitingSample>& samples() const { return samples_; }
  std::set<Place> holders() const {
    std::set<Place> threads;
    for (const WaitingSample& each : samples_) threads.insert(each.holder);
    return threads;
  }

 private:
  std::map<std::uint32_t, std::optional<LockWait>> waits_;  // by stack
  std::vector<WaitingSample> samples_;
};

}  // namespace

std::vector<SplitLock> compare_locks(const Recording& recording, const Names& names,
                                     const CallSplit& split, const SplitComparison& calls) {
  const WaitingSamples waiting(recording, names, split);
  const LockHolders holders(recording, waiting.holders());
  const std::map<Place, std::string> threads = names_of_threads(recording);
  struct Group {
    SplitLock lock{};
    const LockWait* wait = nullptr;
    LockPlaces places{};
  };
  std::map<std::tuple<std::string_view, Place, std::string_view>, Group> locks;
  for (const WaitingSample& each : waiting.samples()) {
    const std::string_view function = holders.function(names, each.holder, *each.sample);
    Group& group = locks[{each.wait->lock, each.holder, function}];
    SplitLock& lock = group.lock;
    const auto owner = threads.find(each.holder);
    group.wait = each.wait;
    group.places.add(each.holder.first, recording.stacks[each.sample->stack]);
    if (owner != threads.end()) lock.owner = owner->second;
    lock.function = function;
    (each.part == CallPart::kSlow ? lock.slow : lock.normal) +=
        std::chrono::nanoseconds(weight_of(*each.sample, Weight::kBlocked));
  }
  std::vector<SplitLock> result;
  for (auto& [key, group] : locks) {
    group.lock.lock = group.wait->text(group.places.locks(names));
    result.push_back(std::move(group.lock));
  }
  const auto difference = [&calls](const SplitLock& lock) {
    return per_call(static_cast<std::uint64_t>(lock.slow.count()), calls.slow) -
           per_call(static_cast<std::uint64_t>(lock.normal.count()), calls.normal);
  };
  std::stable_sort(result.begin(), result.end(),
                   [&difference](const SplitLock& a, const SplitLock& b) {
                     return difference(a) > difference(b);
                   });
  return result;
}

}  // namespace swipr::profile
