// Verifies the claims about code of a handler's walk.
// Context: control thread.
#pragma once

#include "preload/agent/proc/proc_memory.h"
#include "preload/agent/sample/callers/caller_search.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::agent {

// If a claim is refuted, or the code can no longer be read, the stack is cut at the last frame that
// does not depend on it and marked as broken; but if only the caller of one frame depends on it,
// that caller is left out. A return address on top of the stack that a computed
// call has pushed is accepted if `callers` shows that the code returns there; one in a register if
// the code shows that it returns by that.
void check_code_claims(const ProcMemory& memory, const unwind::CodeMap* map, CallerSearch& callers,
                       unwind::FrameBuffer& frames) noexcept;

}  // namespace swipr::agent
