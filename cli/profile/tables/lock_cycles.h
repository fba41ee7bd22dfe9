// Threads that wait for each other's locks in a circle: deadlocks. docs/design/98-lock-cycles.md
// has the proof that what is named here is one.
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

struct LockCycle {
  struct Wait {
    std::uint32_t thread = 0;  // in Recording::threads
    std::string name;          // "worker 4711": its name and tid
    std::string lock;          // "mutex in enter_lock", held by the thread of the next wait
  };
  std::vector<Wait> waits;  // two or more; the lock of the last one is held by the first one
  std::chrono::nanoseconds waited{0};  // for how long all of them have waited, up to the end
};

// The last wait of each thread: since when it sleeps there without having run.
class LastWaits {
 public:
  // Samples in order of time, as they come; CPU time may be credited. They refer to `recording`.
  void add(const Recording& recording, std::span<const Sample> samples);
  // Those that have lasted up to the last samples of their threads; of the longest first. `names`
  // belongs to `recording`, which add() was called with.
  std::vector<LockCycle> find_cycles(const Recording& recording, const Names& names) const;

 private:
  struct Wait {
    std::uint32_t stack = kNone;            // kNone: the thread does not wait
    std::chrono::nanoseconds begin{0};      // of the first sample of the wait
    std::chrono::nanoseconds asleep_at{0};  // from here on it is known to have slept
    std::chrono::nanoseconds end{0};        // of the last sample
    bool is_known = false;                  // the thread has had a sample
  };
  void add(const Recording& recording, const Sample& sample);

  std::vector<Wait> waits_;  // by thread
};

// Those at the end of a recording.
std::vector<LockCycle> lock_cycles(const Recording& recording, const Names& names);

// "a 70 waits for the mutex in f, held by b 71, which waits for the mutex in g, held by a 70"
std::string describe(const LockCycle& cycle);

}  // namespace swipr::profile
