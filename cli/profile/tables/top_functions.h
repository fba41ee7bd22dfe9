// Self and total weight per function. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

struct TopFunction {
  std::string function;
  std::uint64_t self = 0;   // in the innermost frame
  std::uint64_t total = 0;  // anywhere in the stack; recursion counts once
  Language language = Language::kNative;
};

struct TopFunctions {
  std::vector<TopFunction> functions;  // most self weight first, then total, then name
  std::uint64_t total = 0;             // of all samples, including those without a stack
};

// Inlined functions count as functions. `names` belongs to `recording`.
TopFunctions top_functions(const Recording& recording, const Names& names, Weight weight);

}  // namespace swipr::profile
