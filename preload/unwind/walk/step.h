// One step of a walk by a rule that is not plain. The plain ones are in walk_loop.h, inlined.
#pragma once

#include "common/core/signal_safe.h"
#include "preload/unwind/base/registers.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::unwind {

enum class StepStatus : std::uint8_t {
  kOk,
  kRoot,
  kUnreadable,
  kUnknownRegister,
  kNoRule,
  kUnbuilt,
  kUseTables,  // of a runtime's code: nothing has changed, the tables are right here
};

// Replaces `registers` by the caller's. Unless the result is kOk they are invalid.
// Context: signal handler or control thread.  Allocates: never.  Errno: kept.
SWIPR_SIGNAL_SAFE StepStatus step_by_extended_rule(const UnwindTable& table, const Rule& rule,
                                                   StackReader reader,
                                                   Registers& registers) noexcept;

}  // namespace swipr::unwind
