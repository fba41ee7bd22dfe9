// The locks that slow calls of traced functions wait for, beside the others. Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/profile/call_split.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

struct SplitLock {
  std::string lock;                    // "mutex in enter_lock"
  std::string owner;                   // "worker 4711": the thread that holds it; empty: not known
  std::string function;                // where the owner is meanwhile; empty: not known
  std::chrono::nanoseconds slow{0};    // waited in slow calls
  std::chrono::nanoseconds normal{0};  // … in the others
};

// Largest difference of the time per call first; `calls` is what compare_parts() counted. The
// owner's samples are searched among all, whether they are in a call or not. Lifetime: `recording`
// is that of `split`.
std::vector<SplitLock> compare_locks(const Recording& recording, const Names& names,
                                     const CallSplit& split, const SplitComparison& calls);

}  // namespace swipr::profile
