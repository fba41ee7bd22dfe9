// Filters of samples and stacks. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

// A sample without a label of this key matches as one with an empty value.
struct LabelPattern {
  std::string key;
  std::string pattern;  // of the value, a shell pattern
  friend bool operator==(const LabelPattern&, const LabelPattern&) = default;
};

struct SampleFilter {
  std::vector<std::string> threads;  // names as shell patterns, or tids; empty: all
  StateSet states;                   // empty: all
  // Since the start of the recording. Samples are cut at these limits.
  std::optional<std::chrono::nanoseconds> from;
  std::optional<std::chrono::nanoseconds> to;
  std::vector<LabelPattern> labels{};  // of each key one has to match; empty: all
};
void keep_times(Recording& recording, const SampleFilter& filter);
// Removes all other labels of threads.
void select_labels(Recording& recording, const std::vector<std::string>& keys);
void keep_labels(Recording& recording, const std::vector<LabelPattern>& labels);
void keep_threads_and_states(Recording& recording, const SampleFilter& filter);

// Merges all threads of a process into one with the name and pid of the process.
void merge_threads(Recording& recording);

// Appends `other` at its real time, or shifted so that both start together.
enum class Align : std::uint8_t { kRealTime, kBegin };
void append(Recording& recording, Recording other, Align align);

using NameMatch = std::function<bool(std::string_view)>;

// Of stacks that have frames of a language runtime: all frames, native ones, or those of runtimes.
enum class FrameKinds : std::uint8_t { kMixed, kNative, kLanguage };

struct StackFilter {
  FrameKinds kinds = FrameKinds::kMixed;
  NameMatch only{};   // drop samples without a matching function
  NameMatch hide{};   // remove matching functions from the stacks
  NameMatch focus{};  // start stacks at the outermost matching function, drop other samples
};
// Empty functions filter nothing. Samples whose stack becomes empty are kept.
void filter_stacks(Recording& recording, Names& names, const StackFilter& filter);

// Reverses the stacks.
void invert_stacks(Recording& recording, Names& names);

}  // namespace swipr::profile
