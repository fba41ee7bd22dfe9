#include "cli/export/page/page_locks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/export/text/json_text.h"
#include "cli/profile/tables/lock_cycles.h"
#include "cli/profile/tables/lock_waits.h"

namespace swipr::exporters {

namespace {

constexpr std::size_t kMaxLocks = 200;

}  // namespace

std::vector<PageLock> find_page_locks(const profile::Recording& recording,
                                      const profile::Names& names) {
  std::vector<PageLock> locks;
  const auto add = [&](std::string_view kind, RuntimeWait wait) {
    for (profile::LockHolder& holder : profile::lock_waits(recording, names, wait).holders) {
      locks.push_back({kind, std::move(holder)});
    }
  };
  add("mutex", RuntimeWait::kMutex);
  add("rwlock", RuntimeWait::kRwlock);
  add(profile::interpreter_lock(recording), RuntimeWait::kGil);
  add("monitor", RuntimeWait::kMonitor);
  std::stable_sort(locks.begin(), locks.end(), [](const PageLock& a, const PageLock& b) {
    return a.holder.waited > b.holder.waited;
  });
  if (locks.size() > kMaxLocks) locks.resize(kMaxLocks);
  return locks;
}

std::vector<std::uint32_t> locks_of_samples(const profile::Recording& recording,
                                            const std::vector<PageLock>& locks) {
  std::vector<std::uint32_t> lock_of(recording.samples.size(), profile::kNone);
  for (std::uint32_t index = 0; index < locks.size(); ++index) {
    for (const std::uint32_t sample : locks[index].holder.samples) lock_of[sample] = index;
  }
  return lock_of;
}

void write_page_locks(const std::vector<PageLock>& locks, const profile::Recording& recording,
                      const profile::Names& names, Sink& sink) {
  write_json_array(sink, "locks", locks, [](const PageLock& lock) {
    const profile::LockHolder& holder = lock.holder;
    const std::string wanted = profile::lock_text(lock.kind, holder.locks, holder.lock);
    return fmt::format("{{\"wanted\":{},\"lock\":{},\"holder\":{},\"waited_ns\":{}}}",
                       json_string(wanted), json_string(holder.lock), json_string(holder.function),
                       holder.waited.count());
  });
  sink.write(",\n");
  write_json_array(sink, "deadlocks", profile::lock_cycles(recording, names),
                   [](const profile::LockCycle& cycle) {
                     return fmt::format("{{\"text\":{},\"waited_ns\":{}}}",
                                        json_string(describe(cycle)), cycle.waited.count());
                   });
  sink.write(",\n");
}

}  // namespace swipr::exporters
