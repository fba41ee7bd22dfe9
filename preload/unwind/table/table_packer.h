// Makes a read-only table of minimum size from rows and rules.
// Context: control thread.  Allocates: mmap.
#pragma once

#include "preload/unwind/table/row_writer.h"
#include "preload/unwind/table/rule_set.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::unwind {

// nullptr: no memory.
const UnwindTable* pack_table(const RowWriter& rows, const RuleSet& rules) noexcept;

// Makes the table read-only, because a stray write by the program must not cause wrong stacks, and
// excludes it from children of a fork.
void seal(const UnwindTable& table) noexcept;

}  // namespace swipr::unwind
