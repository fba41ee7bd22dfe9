// Stacks of threads that wait for locks, for tests.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

// `functions`: innermost first. Returns the index of the stack.
inline std::uint32_t add_lock_stack(Recording& recording, Names& names,
                                    const std::vector<std::string_view>& functions,
                                    RuntimeWait kind, Tid holder) {
  Stack& stack = recording.stacks.emplace_back();
  for (const std::string_view function : functions) {
    stack.frames.push_back(static_cast<std::uint32_t>(recording.frames.size()));
    recording.frames.emplace_back();
    NamedFrame named;
    named.function = function;
    names.frames.push_back({named});
  }
  stack.runtime_wait = kind;
  stack.holder = holder;
  return static_cast<std::uint32_t>(recording.stacks.size() - 1);
}

}  // namespace swipr::profile
