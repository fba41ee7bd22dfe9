// The program's own signal handlers, called by one function of swipr's, so that what they interrupt
// stays theirs: swipr's handler never mends a call that a handler of the program has interrupted
// (mend_call.h).
//
// The kernel knows on_program_signal with the program's own mask and flags; a table knows whom to
// call. What the wrapped sigaction family shows to the program are its own functions.
// Context: any thread, signal handlers included.  Allocates: never.
#pragma once

#include <signal.h>

#include "common/core/signal_safe.h"

namespace swipr::handler {

// What to give to the kernel where the program asks for `wanted`. Remembers its function; a signal
// that arrives between this and the kernel's call finds the new function with the old mask.
SWIPR_SIGNAL_SAFE struct sigaction to_kernel_action(int number,
                                                    const struct sigaction& wanted) noexcept;
// What the program has asked for, from what the kernel has.
SWIPR_SIGNAL_SAFE struct sigaction to_program_action(int number,
                                                     const struct sigaction& current) noexcept;

}  // namespace swipr::handler
