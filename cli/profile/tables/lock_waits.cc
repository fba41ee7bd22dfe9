#include "cli/profile/tables/lock_waits.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "cli/profile/tables/lock_holders.h"

namespace swipr::profile {

namespace {

struct Mutex {
  bool is_known = false;
  bool is_one = false;
  bool ends_in_time = false;
  std::string_view site;
};

// Functions of mutexes are near the system call.
Mutex find_mutex(const Recording& recording, const Names& names, std::uint32_t stack) {
  constexpr std::size_t kNear = 4;
  const std::span<const std::uint32_t> frames = recording.stacks[stack].frames;
  for (std::size_t at = 0; at < std::min(kNear, frames.size()); ++at) {
    const std::string_view name = names.frames[frames[at]].back().function;
    if (name.find("pthread_mutex_") == name.npos || name.find("lock") == name.npos) continue;
    const bool ends_in_time =
        name.find("timedlock") != name.npos || name.find("clocklock") != name.npos;
    return {true, true, ends_in_time, innermost_function(recording, names, frames.subspan(at + 1))};
  }
  return {true, false, false, {}};
}

// The samples in which a thread waits for a lock of that kind.
class LockSamples {
 public:
  LockSamples(const Recording& recording, const Names& names, RuntimeWait kind)
      : recording_(recording), names_(names), kind_(kind), mutexes_(recording.stacks.size()) {}

  // nullptr: the sample is another.
  const Stack* wait(const Sample& sample) {
    if (sample.state != State::kBlocked || sample.stack == kNone) return nullptr;
    const Stack& stack = recording_.stacks[sample.stack];
    if (stack.runtime_wait != kind_) return nullptr;
    return kind_ != RuntimeWait::kMutex || mutex(sample.stack).is_one ? &stack : nullptr;
  }
  // What it waits for: a type, or where the thread wants the mutex. After wait().
  std::string_view lock(const Sample& sample) {
    return kind_ == RuntimeWait::kMutex ? mutex(sample.stack).site
                                        : recording_.stacks[sample.stack].wait_type;
  }

 private:
  const Mutex& mutex(std::uint32_t stack) {
    Mutex& known = mutexes_[stack];
    if (!known.is_known) known = find_mutex(recording_, names_, stack);
    return known;
  }

  const Recording& recording_;
  const Names& names_;
  RuntimeWait kind_;
  std::vector<Mutex> mutexes_;  // by stack
};

}  // namespace

LockWaits lock_waits(const Recording& recording, const Names& names, RuntimeWait kind) {
  LockWaits result;
  LockSamples waits(recording, names, kind);
  std::set<Place> threads;
  for (const Sample& sample : recording.samples) {
    const Stack* const stack = waits.wait(sample);
    if (stack != nullptr) threads.insert({recording.threads[sample.thread].process, stack->holder});
  }
  const LockHolders holders(recording, threads);
  using LockAndFunction = std::pair<std::string_view, std::string_view>;
  std::map<LockAndFunction, std::chrono::nanoseconds> by_holder;
  std::vector<bool> waited(recording.threads.size());
  for (const Sample& sample : recording.samples) {
    const Stack* const stack = waits.wait(sample);
    if (stack == nullptr) continue;
    waited[sample.thread] = true;
    const std::chrono::nanoseconds time(weight_of(sample, Weight::kBlocked));
    result.waited += time;
    const Place holder{recording.threads[sample.thread].process, stack->holder};
    by_holder[{waits.lock(sample), holders.function(names, holder, sample)}] += time;
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

std::string_view interpreter_lock(const Recording& recording) {
  const auto has = [&recording](Language language) {
    return std::any_of(recording.runtimes.begin(), recording.runtimes.end(),
                       [language](const Runtime& runtime) { return runtime.language == language; });
  };
  return has(Language::kRuby) && !has(Language::kPython) ? "GVL" : "GIL";
}

std::optional<LockWait> find_lock_wait(const Recording& recording, const Names& names,
                                       std::uint32_t stack) {
  if (stack == kNone) return std::nullopt;
  const Stack& entry = recording.stacks[stack];
  LockWait wait{{}, entry.holder, false};
  const auto named = [&wait](std::string_view kind, std::string_view joint, std::string_view name) {
    wait.lock = kind;
    if (!name.empty()) wait.lock.append(joint).append(name);
  };
  switch (entry.runtime_wait) {
    case RuntimeWait::kMutex: {
      const Mutex mutex = find_mutex(recording, names, stack);
      if (!mutex.is_one) return std::nullopt;
      named("mutex", " in ", mutex.site);
      wait.ends_in_time = mutex.ends_in_time;
      return wait;
    }
    case RuntimeWait::kGil:
      named(interpreter_lock(recording), " ", entry.wait_type);
      return wait;
    case RuntimeWait::kMonitor:
      named("monitor", " ", entry.wait_type);
      return wait;
    default:
      return std::nullopt;
  }
}

std::vector<LockOwner> lock_owners(const Recording& recording, const Names& names) {
  std::map<Place, std::string> thread_names;
  for (const Thread& thread : recording.threads) {
    thread_names[{thread.process, thread.tid}] =
        thread.name + " " + std::to_string(thread.tid.value);
  }
  std::map<std::pair<std::string, Place>, std::chrono::nanoseconds> by_owner;
  std::map<std::uint32_t, std::optional<LockWait>> by_stack;
  for (const Sample& sample : recording.samples) {
    if (sample.state != State::kBlocked || sample.stack == kNone) continue;
    const auto [found, is_new] = by_stack.try_emplace(sample.stack);
    if (is_new) found->second = find_lock_wait(recording, names, sample.stack);
    if (!found->second) continue;
    const Place owner{recording.threads[sample.thread].process, found->second->holder};
    by_owner[{found->second->lock, owner}] +=
        std::chrono::nanoseconds(weight_of(sample, Weight::kBlocked));
  }
  std::vector<LockOwner> owners;
  for (const auto& [key, waited] : by_owner) {
    const auto name = thread_names.find(key.second);
    const bool is_known = key.second.second.value != 0 && name != thread_names.end();
    owners.push_back({key.first, is_known ? name->second : "?", waited});
  }
  std::stable_sort(owners.begin(), owners.end(),
                   [](const LockOwner& a, const LockOwner& b) { return a.waited > b.waited; });
  return owners;
}

}  // namespace swipr::profile
