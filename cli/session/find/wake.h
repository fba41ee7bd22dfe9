// Asks a process whose socket file was deleted (by a cleaner of /tmp) to create it again.
#pragma once

#include "common/core/ids.h"

namespace swipr::session {

// Signals the control thread of the process, which blocks the signal and polls for it. Returns
// false if there is no such thread or no permission.
bool ask_to_listen_again(Pid pid);

}  // namespace swipr::session
