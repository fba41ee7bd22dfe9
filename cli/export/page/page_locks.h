// The locks that threads waited for, as JSON for the page.
// Errors of the sink are kept by it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/export/text/sink.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "cli/profile/tables/lock_waits.h"

namespace swipr::exporters {

struct PageLock {
  std::string_view kind;  // "mutex"
  profile::LockHolder holder;
};

// Longest waits first, at most 200. `names` belongs to `recording`.
std::vector<PageLock> find_page_locks(const profile::Recording& recording,
                                      const profile::Names& names);

// By sample of the recording: index of the lock that it waits for; kNone: for none of these.
std::vector<std::uint32_t> locks_of_samples(const profile::Recording& recording,
                                            const std::vector<PageLock>& locks);

// A member "locks" of a JSON object, with a comma behind it: what was waited for, in which function
// its holder was meanwhile, how long. Then a member "deadlocks": a sentence for each circle of
// threads that wait for each other, and how long they have.
void write_page_locks(const std::vector<PageLock>& locks, const profile::Recording& recording,
                      const profile::Names& names, Sink& sink);

}  // namespace swipr::exporters
