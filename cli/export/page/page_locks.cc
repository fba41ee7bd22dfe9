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

struct LockRow {
  std::string_view kind;
  profile::LockHolder holder;
};

}  // namespace

void write_page_locks(const profile::Recording& recording, const profile::Names& names,
                      Sink& sink) {
  std::vector<LockRow> rows;
  const auto add = [&](std::string_view kind, RuntimeWait wait) {
    for (profile::LockHolder& holder : profile::lock_waits(recording, names, wait).holders) {
      rows.push_back({kind, std::move(holder)});
    }
  };
  add("mutex", RuntimeWait::kMutex);
  add("rwlock", RuntimeWait::kRwlock);
  add(profile::interpreter_lock(recording), RuntimeWait::kGil);
  add("monitor", RuntimeWait::kMonitor);
  std::stable_sort(rows.begin(), rows.end(), [](const LockRow& a, const LockRow& b) {
    return a.holder.waited > b.holder.waited;
  });
  if (rows.size() > kMaxLocks) rows.resize(kMaxLocks);
  write_json_array(sink, "locks", rows, [](const LockRow& row) {
    const std::string wanted = profile::lock_text(row.kind, row.holder.locks, row.holder.lock);
    return fmt::format("{{\"wanted\":{},\"lock\":{},\"holder\":{},\"waited_ns\":{}}}",
                       json_string(wanted), json_string(row.holder.lock),
                       json_string(row.holder.function), row.holder.waited.count());
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
