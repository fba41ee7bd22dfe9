// Groups samples by stack, thread, state, and labels or marks. Works stack by stack with small
// tables instead of a hash table, which would miss the CPU cache at each sample; only labels and
// marks need one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "cli/profile/recording/recording.h"

namespace swipr::profile {

// The keys that distinguish samples.
struct KindOptions {
  bool by_thread = true;
  bool by_state = true;
  bool by_labels = false;
  std::span<const std::uint32_t> marks{};  // by sample, instead of labels; kNone: it has none
};

// Indexes of all samples, by stack in the order of the recording, samples without a stack last;
// within a stack in order of time.
std::vector<std::uint32_t> samples_by_stack(const Recording& recording);

// Calls `visit(sample index, kind, is_new)` in the order of samples_by_stack. Kinds are numbered
// from 0 in order of their first samples.
template <typename Visit>
void for_each_by_kind(const Recording& recording, KindOptions options, Visit visit) {
  constexpr std::size_t kStates = 4;
  std::vector<std::uint32_t> kinds(recording.threads.size() * kStates, kNone);  // latest of each
  std::unordered_map<std::uint64_t, std::uint32_t> marked;  // the same, within one stack
  std::uint32_t kind_count = 0;
  std::uint32_t first_of_stack = 0;
  std::uint32_t stack = kNone;
  for (const std::uint32_t index : samples_by_stack(recording)) {
    const Sample& sample = recording.samples[index];
    if (sample.stack != stack) {
      first_of_stack = kind_count;
      marked.clear();
    }
    stack = sample.stack;
    const std::size_t thread = options.by_thread ? sample.thread : 0;
    const std::size_t state = options.by_state ? static_cast<std::size_t>(sample.state) : 0;
    const std::size_t place = thread * kStates + state;
    const std::uint32_t own = options.by_labels ? sample.labels : kNone;
    const std::uint32_t mark = options.marks.empty() ? own : options.marks[index];
    const std::uint64_t key = std::uint64_t{place} << 32 | mark;
    std::uint32_t& kind =
        mark != kNone ? marked.try_emplace(key, kNone).first->second : kinds[place];
    const bool is_new = kind == kNone || kind < first_of_stack;
    if (is_new) kind = kind_count++;
    visit(index, kind, is_new);
  }
}

}  // namespace swipr::profile
