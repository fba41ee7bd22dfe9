// Where tasks of asyncio waited. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

struct TaskWaits {
  std::string chain;                   // "serve (app.py) → read (streams.py)"
  std::chrono::nanoseconds waited{0};  // of all tasks together
  std::uint64_t samples = 0;
  std::uint64_t tasks = 0;
};

// Of each chain of awaits, outermost function first, of which at most the inner 8 count. Longest
// first, then by name. `names` belongs to `recording`.
std::vector<TaskWaits> task_waits(const Recording& recording, const Names& names);

}  // namespace swipr::profile
