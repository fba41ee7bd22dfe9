// The signal that asks a thread for its stack: its handler, its disposition, and how it is sent.
#pragma once

#include <cstdint>

#include "common/core/ids.h"
#include "preload/handler/slots.h"

namespace swipr::handler {

// Installs the handler with SA_RESTART | SA_SIGINFO | SA_ONSTACK and keeps the disposition it
// replaces; foreign deliveries go there. A program's handler that was installed without SA_RESTART
// keeps its EINTR: then SA_RESTART is left out here, too. False: the kernel refused.
// Context: control thread (all functions).
bool install_handler(int signal_number) noexcept;
// Takes the signal again when the program has put another handler there meanwhile; true: it had.
bool retake_handler() noexcept;
// Puts the program's disposition back, unless the program did so itself, and loses nothing that is
// pending: where the program ignores the signal by SIG_IGN swipr's handler stays. While
// `signals_may_be_pending` the handler stays, until a later recording ends: one that arrives late
// would meet the program's handler; and where the program has none, the kernel would discard it
// although it has cut a system call short already, which only the handler makes up for. What the
// program sees of the disposition is its own in any case (disposition.h).
void restore_handler(bool signals_may_be_pending) noexcept;

// True: the handler is installed with SA_RESTART.
bool restarts_calls() noexcept;

// False: the thread is gone or its queue is full.
bool send_signal(Pid process, Tid thread, Cookie cookie) noexcept;

}  // namespace swipr::handler
