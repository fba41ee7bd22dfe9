// Functions that look at their own return address: setjmp, getcontext and vfork return to it more
// than once, dlsym and others find their caller by it. A traced one would find a thunk.
// Context: control thread.  Allocates: never.
#pragma once

#include "preload/trace/plan/plan.h"

namespace swipr::trace {

// Follows the stack pointer from the begin to the first jump or return that always happens; with a
// frame pointer all of the function.
bool reads_return_address(const Function& function) noexcept;

}  // namespace swipr::trace
