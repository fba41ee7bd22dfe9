// Verifies what a handler's walk has claimed about code.
// Context: control thread.
#pragma once

#include "preload/agent/proc/proc_memory.h"
#include "preload/agent/sample/caller_search.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::agent {

// Where a claim is refuted, or the code cannot be read any more, the stack ends at the last frame
// that does not depend on it, as a broken one. A return address on top of the stack that a computed
// call has pushed is the caller's where `callers` says that the code returns there.
void check_code_claims(const ProcMemory& memory, const unwind::CodeMap* map, CallerSearch& callers,
                       unwind::FrameBuffer& frames) noexcept;

}  // namespace swipr::agent
