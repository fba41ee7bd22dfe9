// What threads that hold locks do while others wait.
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

using Place = std::pair<std::uint32_t, Tid>;  // process and thread

// "worker 4711": names and tids of all threads.
std::map<Place, std::string> names_of_threads(const Recording& recording);

bool is_in_c_library(const Recording& recording, std::uint32_t frame);

// Of a language runtime if there is one; else the innermost outside the C library, without what is
// inlined there; empty: there is none. `frames`: innermost first.
std::string_view innermost_function(const Recording& recording, const Names& names,
                                    std::span<const std::uint32_t> frames);

class LockHolders {
 public:
  // `threads`: those that hold locks. Lifetime: the recording outlives this, and keeps its samples.
  LockHolders(const Recording& recording, const std::set<Place>& threads);

  // Where the holder was at the middle of that wait: at its end it has just let the lock go. Empty:
  // it is not known.
  std::string_view function(const Names& names, Place holder, const Sample& wait) const;

 private:
  const Sample* find(Place thread, std::chrono::nanoseconds time) const;

  const Recording& recording_;
  std::map<Place, std::vector<const Sample*>> samples_;  // in order of time
};

}  // namespace swipr::profile
