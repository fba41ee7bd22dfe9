// Lays rows and rules out in one read-only mapping of exactly the size they need.
// Context: control thread.  Allocates: mmap.
#pragma once

#include "preload/unwind/row_writer.h"
#include "preload/unwind/rule_set.h"
#include "preload/unwind/unwind_table.h"

namespace swipr::unwind {

// nullptr: no memory.
const UnwindTable* pack_table(const RowWriter& rows, const RuleSet& rules) noexcept;

}  // namespace swipr::unwind
