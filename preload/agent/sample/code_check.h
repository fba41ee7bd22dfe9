// Verifies what a handler's walk has claimed about code.
// Context: control thread.
#pragma once

#include "preload/agent/proc/proc_memory.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::agent {

// Where a claim is refuted, or the code cannot be read any more, the stack ends at the last frame
// that does not depend on it, as a broken one.
void check_code_claims(const ProcMemory& memory, const unwind::CodeMap* map,
                       unwind::FrameBuffer& frames) noexcept;

}  // namespace swipr::agent
