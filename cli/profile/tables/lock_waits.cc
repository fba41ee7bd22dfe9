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

struct LibraryLock {
  bool is_known = false;
  bool is_one = false;
  bool ends_in_time = false;
  std::string_view site;
};

// std::mutex::lock(), std::shared_lock<…>::lock(), std::__shared_mutex_pthread::lock() and the
// like, which are functions of their own in programs that are not optimised.
bool is_lock_of_language(std::string_view function) {
  if (function.starts_with("__gthread_") || function.starts_with("__glibcxx_rwlock_")) return true;
  const std::string_view name = function.substr(0, function.find_first_of("<("));
  return name.find("std::") != name.npos &&
         (name.find("mutex") != name.npos || name.find("lock") != name.npos);
}

constexpr std::size_t kNear = 4;  // functions of locks are near the system call

// glibc's functions for mutexes with a time limit, and for those that are robust or inherit
// priorities, end in a jump to one that only debug information names. Other functions that a
// program calls in the C library are exported, so they have names. Which of these mutexes it is, is
// not known, so it may have a time limit.
LibraryLock find_nameless_mutex(const Recording& recording, const Names& names,
                                std::span<const std::uint32_t> frames) {
  std::size_t inside = 0;
  while (inside < frames.size() && is_in_c_library(recording, frames[inside])) ++inside;
  const bool is_one = inside > 0 && inside <= kNear && inside < frames.size() &&
                      names.frames[frames[inside - 1]].back().system_name.empty();
  if (!is_one) return {true, false, false, {}};
  return {true, true, true, innermost_function(recording, names, frames.subspan(inside))};
}

LibraryLock find_library_lock(const Recording& recording, const Names& names, std::uint32_t stack) {
  const bool is_mutex = recording.stacks[stack].runtime_wait == RuntimeWait::kMutex;
  const std::string_view functions = is_mutex ? "pthread_mutex_" : "pthread_rwlock_";
  const std::span<const std::uint32_t> frames = recording.stacks[stack].frames;
  const auto name_of = [&](std::size_t at) { return names.frames[frames[at]].back().function; };
  for (std::size_t at = 0; at < std::min(kNear, frames.size()); ++at) {
    const std::string_view name = name_of(at);
    const std::size_t found = name.find(functions);
    if (found == name.npos || name.find("lock", found + functions.size()) == name.npos) continue;
    const bool ends_in_time = name.find("_timed") != name.npos || name.find("_clock") != name.npos;
    while (++at < frames.size() && is_lock_of_language(name_of(at))) {
    }
    return {true, true, ends_in_time, innermost_function(recording, names, frames.subspan(at))};
  }
  if (is_mutex) return find_nameless_mutex(recording, names, frames);
  return {true, false, false, {}};
}

// The samples in which a thread waits for a lock of that kind.
class LockSamples {
 public:
  LockSamples(const Recording& recording, const Names& names, RuntimeWait kind)
      : recording_(recording), names_(names), kind_(kind), locks_(recording.stacks.size()) {}

  // nullptr: the sample is another.
  const Stack* wait(const Sample& sample) {
    if (sample.state != State::kBlocked || sample.stack == kNone) return nullptr;
    const Stack& stack = recording_.stacks[sample.stack];
    if (stack.runtime_wait != kind_) return nullptr;
    return !is_library_lock(kind_) || lock_of(sample.stack).is_one ? &stack : nullptr;
  }
  // What it waits for: a type, or where the thread wants the lock. After wait().
  std::string_view lock(const Sample& sample) {
    return is_library_lock(kind_) ? lock_of(sample.stack).site
                                  : recording_.stacks[sample.stack].wait_type;
  }

 private:
  const LibraryLock& lock_of(std::uint32_t stack) {
    LibraryLock& known = locks_[stack];
    if (!known.is_known) known = find_library_lock(recording_, names_, stack);
    return known;
  }

  const Recording& recording_;
  const Names& names_;
  RuntimeWait kind_;
  std::vector<LibraryLock> locks_;  // by stack
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
  struct Group {
    std::chrono::nanoseconds time{0};
    LockPlaces places{};
    std::vector<std::uint32_t> samples{};
  };
  std::map<LockAndFunction, Group> by_holder;
  std::vector<bool> waited(recording.threads.size());
  for (std::uint32_t index = 0; index < recording.samples.size(); ++index) {
    const Sample& sample = recording.samples[index];
    const Stack* const stack = waits.wait(sample);
    if (stack == nullptr) continue;
    waited[sample.thread] = true;
    const std::chrono::nanoseconds time(weight_of(sample, Weight::kBlocked));
    result.waited += time;
    const Place holder{recording.threads[sample.thread].process, stack->holder};
    Group& group = by_holder[{waits.lock(sample), holders.function(names, holder, sample)}];
    group.time += time;
    group.places.add(holder.first, *stack);
    group.samples.push_back(index);
  }
  for (const Sample& sample : recording.samples) {
    if (waited[sample.thread]) result.running += sample.cpu;
  }
  for (auto& [holder, group] : by_holder) {
    result.holders.push_back({std::string(holder.first), std::string(holder.second), group.time,
                              group.places.locks(names), std::move(group.samples)});
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

std::string LockWait::text(const Locks& locks) const {
  return kind.empty() ? lock : lock_text(kind, locks, site);
}

std::optional<LockWait> find_lock_wait(const Recording& recording, const Names& names,
                                       std::uint32_t stack) {
  if (stack == kNone) return std::nullopt;
  const Stack& entry = recording.stacks[stack];
  LockWait wait{.lock = {}, .holder = entry.holder};
  const auto named = [&wait](std::string_view kind, std::string_view joint, std::string_view name) {
    wait.lock = kind;
    if (!name.empty()) wait.lock.append(joint).append(name);
  };
  switch (entry.runtime_wait) {
    case RuntimeWait::kMutex:
    case RuntimeWait::kRwlock: {
      const LibraryLock lock = find_library_lock(recording, names, stack);
      if (!lock.is_one) return std::nullopt;
      wait.kind = entry.runtime_wait == RuntimeWait::kMutex ? "mutex" : "rwlock";
      wait.site = lock.site;
      wait.lock = lock_text(wait.kind, {}, wait.site);
      wait.ends_in_time = lock.ends_in_time;
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
  const std::map<Place, std::string> thread_names = names_of_threads(recording);
  struct Group {
    const LockWait* wait = nullptr;
    std::chrono::nanoseconds waited{0};
    LockPlaces places{};
  };
  std::map<std::pair<std::string_view, Place>, Group> by_owner;
  std::map<std::uint32_t, std::optional<LockWait>> by_stack;
  for (const Sample& sample : recording.samples) {
    if (sample.state != State::kBlocked || sample.stack == kNone) continue;
    const auto [found, is_new] = by_stack.try_emplace(sample.stack);
    if (is_new) found->second = find_lock_wait(recording, names, sample.stack);
    if (!found->second) continue;
    const Place owner{recording.threads[sample.thread].process, found->second->holder};
    Group& group = by_owner[{found->second->lock, owner}];
    group.wait = &*found->second;
    group.waited += std::chrono::nanoseconds(weight_of(sample, Weight::kBlocked));
    group.places.add(owner.first, recording.stacks[sample.stack]);
  }
  std::vector<LockOwner> owners;
  for (const auto& [key, group] : by_owner) {
    const auto name = thread_names.find(key.second);
    const bool is_known = key.second.second.value != 0 && name != thread_names.end();
    owners.push_back(
        {group.wait->text(group.places.locks(names)), is_known ? name->second : "?", group.waited});
  }
  std::stable_sort(owners.begin(), owners.end(),
                   [](const LockOwner& a, const LockOwner& b) { return a.waited > b.waited; });
  return owners;
}

}  // namespace swipr::profile
