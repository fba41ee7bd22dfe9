// `swipr doctor --compare-unwinders`: records a command with both unwinders and prints where they
// differ.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/profile/tables/unwinder_comparison.h"

namespace swipr::commands {

inline constexpr int kUnwindersDiffer = 3;

Outcome compare_unwinders_of(const std::vector<std::string>& command);

// At most a screen. `columns`: longer lines are cut; 0: they are not.
std::string describe_comparison(const profile::UnwinderComparison& comparison, std::size_t columns);

}  // namespace swipr::commands
