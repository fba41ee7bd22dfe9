// Makes a table of rows and rules, read-only and of hardly more than the size that it needs.
// Context: control thread.  Allocates: mmap.
#pragma once

#include "preload/unwind/row_writer.h"
#include "preload/unwind/unwind_table.h"
#include "preload/unwind/walk/rule_set.h"

namespace swipr::unwind {

// Takes the rows' memory over. nullptr: no memory.
const UnwindTable* pack_table(RowWriter& rows, const RuleSet& rules) noexcept;

}  // namespace swipr::unwind
