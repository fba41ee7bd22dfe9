// What two unwinders found of the same stacks (SWIPR_UNWINDER=compare), summed up. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

// Stacks that are the same up to the frame of one function and then go on differently.
struct UnwinderDifference {
  std::string after;  // the last function that both have; empty: not even the innermost frame
  std::string own;    // the caller that swipr's tables found; empty: the stack ends
  std::string other;  // … that libunwind found
  std::uint64_t count = 0;
};

struct UnwinderComparison {
  std::uint64_t compared = 0;
  std::uint64_t equal = 0;
  // Of the others:
  std::uint64_t other_ends_early = 0;  // libunwind's are the same as far as they go
  std::uint64_t own_ends_early = 0;
  std::uint64_t different = 0;
  std::uint64_t left_out = 0;                   // not known how they differ
  std::vector<UnwinderDifference> differences;  // most frequent first
  bool unwinder_is_missing = false;             // in one process at least
};

// `names` belongs to `recording`.
UnwinderComparison compare_unwinders(const Recording& recording, const Names& names);

}  // namespace swipr::profile
