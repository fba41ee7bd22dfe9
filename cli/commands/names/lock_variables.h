// Names of the static variables that locks are in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "symbolize/symbolizer.h"

namespace swipr::commands {

using LockPlaces = std::set<std::pair<std::uint32_t, std::uint64_t>>;  // process and address

// Of stacks from `first` on.
LockPlaces find_lock_places(const profile::Recording& recording, std::size_t first = 0);

// Adds those that are known to `names`. `open` opens the file of a module of the recording.
void name_lock_variables(
    const profile::Recording& recording, const LockPlaces& places,
    symbolize::Symbolizer& symbolizer,
    const std::function<symbolize::Symbolizer::ModuleHandle(std::uint32_t)>& open,
    profile::Names& names);

}  // namespace swipr::commands
