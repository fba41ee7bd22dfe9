// Sets dispositions that ignore a signal without losing pending instances.
//
// rt_sigaction(2) discards every pending instance of a signal, in all threads, when the new
// disposition ignores it: SIG_IGN, or SIG_DFL of SIGCHLD, SIGCONT, SIGURG and SIGWINCH. A blocked
// signal may be pending for a sigwait or a signalfd of the program. Source: kernel/signal.c,
// do_sigaction.
#pragma once

#include "common/core/signal_safe.h"

namespace swipr::handler {

// Replaces swipr's handler by SIG_DFL: SA_RESETHAND is added, and the handler is run once in the
// calling thread. The kernel resets a disposition on delivery without discarding anything. Flags
// and mask of the handler stay in the disposition. False: the kernel refused a step; nothing has
// changed.
// Context: a thread in which no instance of the signal is pending, all signals blocked.
bool reset_to_default(int number) noexcept;

// Sets SIG_IGN just before exec. Instances that are pending for the process or the calling thread,
// the only ones that a new image inherits, are taken and sent again, except swipr's own.
// Context: the thread that calls exec.
SWIPR_SIGNAL_SAFE void ignore_for_exec(int number) noexcept;

}  // namespace swipr::handler
