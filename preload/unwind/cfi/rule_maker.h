// Converts the CFI state of all registers into the rule that a walk needs.
// Context: control thread.
#pragma once

#include <cstdint>
#include <optional>

#include "preload/unwind/cfi/cfi_program.h"
#include "preload/unwind/table/rule_set.h"

namespace swipr::unwind {

// The rule in its plain form, if it has one. Not for signal frames.
std::optional<RuleWords> make_plain_rule(const CfiState& state) noexcept;

// Any rule that is not plain. A signal frame's rule recovers every register: the interrupted
// function may be anywhere in its prologue. Other rules recover only the registers that CFAs at
// call sites use (architecture.h). The number of the rule, or RuleSet::kNoMemory.
std::uint32_t make_other_rule(const CfiState& state, const CfiSection& section, bool signal_frame,
                              RuleSet& rules) noexcept;

}  // namespace swipr::unwind
