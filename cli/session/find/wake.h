// A program whose socket file is gone (a cleaner of /tmp) can be asked to make it again.
#pragma once

#include "common/core/ids.h"

namespace swipr::session {

// Signals the library's own thread in the process, which blocks the signal and polls for it. False:
// there is no such thread, or it may not be signalled.
bool ask_to_listen_again(Pid pid);

}  // namespace swipr::session
