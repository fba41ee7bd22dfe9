// The signal that asks a thread for its stack: its handler, its disposition, and how it is sent.
#pragma once

#include <cstdint>

#include "common/core/ids.h"
#include "preload/handler/slots.h"

namespace swipr::handler {

// Installs the handler with SA_RESTART | SA_SIGINFO | SA_ONSTACK and stores the disposition that it
// replaces, which handles signals of others. If the program's handler was installed without
// SA_RESTART, SA_RESTART is omitted here, too, so that the program's EINTR is kept. False: the
// kernel refused.
// Context: control thread (all functions).
bool install_handler(int signal_number) noexcept;
// Installs the handler again if the program has replaced it meanwhile; true: it had.
bool retake_handler() noexcept;
// Restores the program's disposition, unless the program did so itself, without losing pending
// signals: if the program ignores the signal by SIG_IGN, swipr's handler stays. If
// `signals_may_be_pending`, the handler stays until a later recording ends: a late signal would
// reach the program's handler; if the program has none, the kernel would discard the signal
// although it has already interrupted a system call, which only the handler can repair. The program
// reads its own disposition in any case (disposition.h).
void restore_handler(bool signals_may_be_pending) noexcept;

// True: the handler is installed with SA_RESTART.
bool restarts_calls() noexcept;

// False: the thread is gone or its queue is full.
bool send_signal(Pid process, Tid thread, Cookie cookie) noexcept;

}  // namespace swipr::handler
