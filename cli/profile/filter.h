// Parts of a recording: what is kept of its samples and of their stacks. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/names.h"
#include "cli/profile/recording.h"

namespace swipr::profile {

struct SampleFilter {
  std::vector<std::string> threads;  // names as shell patterns, or tids; empty: all
  StateSet states;                   // empty: all
  // Since the recording's beginning. Of a sample partly outside, the part inside counts.
  std::optional<std::chrono::nanoseconds> from;
  std::optional<std::chrono::nanoseconds> to;
};
void keep_times(Recording& recording, const SampleFilter& filter);
void keep_threads_and_states(Recording& recording, const SampleFilter& filter);

// All threads of a process become one that has the process's name and pid.
void merge_threads(Recording& recording);

// Appends `other`, moved to when it really was, or so that both begin together.
enum class Align : std::uint8_t { kRealTime, kBegin };
void append(Recording& recording, Recording other, Align align);

using NameMatch = std::function<bool(std::string_view)>;

struct StackFilter {
  NameMatch only;   // samples without a matching function are left out
  NameMatch hide;   // matching functions are left out of the stacks
  NameMatch focus;  // stacks begin at the outermost matching function, others are left out
};
// Those that are empty functions filter nothing. Samples whose stack has become empty stay.
void filter_stacks(Recording& recording, Names& names, const StackFilter& filter);

// Innermost functions become outermost ones.
void invert_stacks(Recording& recording, Names& names);

}  // namespace swipr::profile
