// Makes a table of rows and rules, read-only and of hardly more than the size that it needs.
// Context: control thread.  Allocates: mmap.
#pragma once

#include "preload/unwind/table/row_writer.h"
#include "preload/unwind/table/rule_set.h"
#include "preload/unwind/table/unwind_table.h"

namespace swipr::unwind {

// Takes the rows' memory over. nullptr: no memory.
const UnwindTable* pack_table(RowWriter& rows, const RuleSet& rules) noexcept;

// Read-only from now on, because a stray write of the program must not turn into wrong stacks, and
// not inherited by children of a fork.
void seal(const UnwindTable& table) noexcept;

}  // namespace swipr::unwind
