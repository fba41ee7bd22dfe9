// What a service tells the manager that started it.
#pragma once

#include <string_view>

namespace swipr::host {

// "READY=1", "WATCHDOG=1", "STOPPING=1". Nothing happens without a manager that listens.
// Blocks: never.
// Source: sd_notify(3); $NOTIFY_SOCKET is a path, or begins with "@" in the abstract namespace.
void tell_service_manager(std::string_view state);

}  // namespace swipr::host
