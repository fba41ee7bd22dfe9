// What `swipr top` shows of one window of time, as numbers and names. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "cli/profile/tables/hot_paths.h"
#include "cli/profile/tables/lock_cycles.h"
#include "cli/profile/tables/lock_waits.h"
#include "cli/profile/tables/thread_times.h"
#include "cli/profile/tables/top_functions.h"

namespace swipr::live {

// Calls of the function that is traced, in the window.
struct Latency {
  std::string function;
  std::string state;  // "is searched": what follows the name instead of figures; empty: figures do
  double per_second = 0;
  std::optional<std::chrono::nanoseconds> p50, p95;  // none: too few calls
  std::vector<std::uint64_t> histogram;              // as make_histogram() has it
};

struct Figures {
  std::string title;  // "redis-server 4711"
  profile::Weight weight = profile::Weight::kCpu;
  std::chrono::nanoseconds covered{0};  // of the window
  std::chrono::nanoseconds cpu{0};
  std::chrono::nanoseconds runqueue{0};
  std::vector<std::chrono::nanoseconds> cpu_per_second;  // oldest first
  std::uint64_t samples = 0;
  std::uint64_t dropped = 0;
  profile::TopFunctions functions;
  std::vector<profile::PathNode> tree;
  struct Thread {
    std::string name;
    Tid tid;
    profile::ThreadTimes times;
  };
  std::vector<Thread> threads;            // those that did anything, busiest first
  std::vector<profile::LockOwner> locks;  // longest first
  std::vector<profile::LockCycle> deadlocks;
  std::optional<Latency> latency;  // none: no function is traced
};

// `recording.samples` are those of the window; CPU time is credited to running stacks.
Figures make_figures(profile::Recording& recording, const profile::Names& names,
                     profile::Weight weight, const profile::StateName& state_name);

}  // namespace swipr::live
