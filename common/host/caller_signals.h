// What swipr itself needs of signals whatever its caller has left it, and the way back for the
// programs that it starts.
#pragma once

namespace swipr::host {

// A reader that goes away (SIGPIPE) and a file that has reached its limit (SIGXFSZ) are failed
// writes, with a message and with files tidied up. Children can be waited for: where the caller
// ignores SIGCHLD the kernel would reap them itself.
// Thread: before there is a second one.
void take_signals_from_caller() noexcept;

// As the caller has left them. Context: the child of a fork.
void return_signals_of_caller() noexcept;

}  // namespace swipr::host
