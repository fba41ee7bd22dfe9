// How long threads waited for locks, and what the holders did meanwhile.
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "cli/profile/tables/lock_places.h"

namespace swipr::profile {

struct LockHolder {
  // Type of a monitor, "java.util.Vector"; function that wants a mutex or a read-write lock; empty:
  // not known, or there is one lock only.
  std::string lock;
  // Innermost function of a language runtime, "parse (app.py)", or outside the C library; empty:
  // not known.
  std::string function;
  std::chrono::nanoseconds waited{0};
  Locks locks{};                         // of the C library: which they are
  std::vector<std::uint32_t> samples{};  // that are these waits: indexes, in order of time
};

struct LockWaits {
  std::chrono::nanoseconds waited{0};   // of all threads together
  std::chrono::nanoseconds running{0};  // CPU time of the threads that waited for one at any time
  std::vector<LockHolder> holders;      // longest first, then by name
};

// What kGil is called: "GVL" if only Ruby has one, else "GIL".
std::string_view interpreter_lock(const Recording& recording);

// `kind`: kGil, kMonitor, kMutex or kRwlock. A wait is attributed to what its holder was found in
// at the middle of the wait: at its end the holder has just let the lock go. `names` belongs to
// `recording`.
LockWaits lock_waits(const Recording& recording, const Names& names, RuntimeWait kind);

// A lock that a stack waits for, and who held it when the stack was taken.
struct LockWait {
  std::string lock;           // "mutex in enter_lock", "GIL", "monitor java.util.Vector"
  std::string_view kind{};    // "mutex", "rwlock"; empty: it is no lock of the C library
  std::string_view site{};    // where it is wanted; empty: not known. Lifetime: that of `names`
  Tid holder{};               // 0: not known
  bool ends_in_time = false;  // the thread gives up after some time, or may do so
  // The same for several waits that have all but the locks in common.
  std::string text(const Locks& locks) const;
};

// Nothing if the stack waits for no lock. `names` belongs to `recording`.
std::optional<LockWait> find_lock_wait(const Recording& recording, const Names& names,
                                       std::uint32_t stack);

struct LockOwner {
  std::string lock;   // as in LockWait, but with its address, or how many there are
  std::string owner;  // "worker 4711": name and tid of the thread that holds it; "?": not known
  std::chrono::nanoseconds waited{0};
};

// By lock and owner, longest first. For sums of samples, which lock_waits() cannot use, because
// their times are not known. `names` belongs to `recording`.
std::vector<LockOwner> lock_owners(const Recording& recording, const Names& names);

}  // namespace swipr::profile
