// How long threads waited for locks of their language runtime, and what the holders did meanwhile.
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

struct LockHolder {
  std::string type;      // of the lock, "java.util.Vector"; empty: not known, or there is one only
  std::string function;  // innermost of a language runtime, "parse (app.py)"; empty: not known
  std::chrono::nanoseconds waited{0};
};

struct LockWaits {
  std::chrono::nanoseconds waited{0};   // of all threads together
  std::chrono::nanoseconds running{0};  // CPU time of the threads that waited for one at any time
  std::vector<LockHolder> holders;      // longest first, then by name
};

// `kind`: kGil or kMonitor. A wait is attributed to what its holder was found in at the end of the
// wait. `names` belongs to `recording`.
LockWaits lock_waits(const Recording& recording, const Names& names, RuntimeWait kind);

}  // namespace swipr::profile
