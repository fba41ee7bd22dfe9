// How long threads waited for the GIL of their interpreter, and what its holders did meanwhile.
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

struct GilHolder {
  std::string function;  // innermost of a language runtime, "parse (app.py)"; empty: not known
  std::chrono::nanoseconds waited{0};
};

struct GilWaits {
  std::chrono::nanoseconds waited{0};   // of all threads together
  std::chrono::nanoseconds running{0};  // CPU time of the threads that waited for it at any time
  std::vector<GilHolder> holders;       // longest first, then by name
};

// A wait is attributed to what its holder was found in at the end of the wait. `names` belongs to
// `recording`.
GilWaits gil_waits(const Recording& recording, const Names& names);

}  // namespace swipr::profile
