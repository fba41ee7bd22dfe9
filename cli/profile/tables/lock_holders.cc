#include "cli/profile/tables/lock_holders.h"

#include <algorithm>

namespace swipr::profile {

namespace {

std::string_view file_of(const Recording& recording, std::uint32_t frame) {
  const std::uint32_t module = recording.frames[frame].module;
  if (module == kNone) return {};
  const std::string_view path = recording.modules[module].path;
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

bool is_in_c_library(const Recording& recording, std::uint32_t frame) {
  const std::string_view file = file_of(recording, frame);
  return file.starts_with("libc.so") || file.starts_with("libc-2.") ||
         file.starts_with("libpthread") || file.starts_with("[vdso]");
}

std::map<Place, std::string> names_of_threads(const Recording& recording) {
  std::map<Place, std::string> names;
  for (const Thread& thread : recording.threads) {
    names[{thread.process, thread.tid}] = thread.name + " " + std::to_string(thread.tid.value);
  }
  return names;
}

std::string_view innermost_function(const Recording& recording, const Names& names,
                                    std::span<const std::uint32_t> frames) {
  for (const std::uint32_t frame : frames) {
    const NamedFrame& named = names.frames[frame].front();
    if (!is_native(named)) return named.function;
  }
  for (const std::uint32_t frame : frames) {
    if (!is_in_c_library(recording, frame)) return names.frames[frame].back().function;
  }
  return {};
}

LockHolders::LockHolders(const Recording& recording, const std::set<Place>& threads)
    : recording_(recording) {
  for (const Place& thread : threads) samples_[thread];
  if (samples_.empty()) return;
  for (const Sample& sample : recording.samples) {
    const Thread& thread = recording.threads[sample.thread];
    const auto holder = samples_.find({thread.process, thread.tid});
    if (holder != samples_.end()) holder->second.push_back(&sample);
  }
}

// The sample of that thread that covers this moment; nullptr: none does.
const Sample* LockHolders::find(Place thread, std::chrono::nanoseconds time) const {
  const auto found = samples_.find(thread);
  if (found == samples_.end()) return nullptr;
  const auto sample = std::lower_bound(
      found->second.begin(), found->second.end(), time,
      [](const Sample* left, std::chrono::nanoseconds right) { return left->time < right; });
  if (sample == found->second.end() || (*sample)->time - (*sample)->wall > time) return nullptr;
  return *sample;
}

std::string_view LockHolders::function(const Names& names, Place holder, const Sample& wait) const {
  const Sample* const sample = find(holder, wait.time - wait.wall / 2);
  if (sample == nullptr || sample->stack == kNone) return {};
  return innermost_function(recording_, names, recording_.stacks[sample->stack].frames);
}

}  // namespace swipr::profile
