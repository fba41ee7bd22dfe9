// Reads a recording of either format from a descriptor; the first bytes tell which one it is.
#pragma once

#include <string_view>

#include "cli/profile/recording.h"
#include "common/host/result.h"

namespace swipr::importers {

// Reads `fd` to its end. `name` is for messages.
// Blocks: as long as the descriptor does.
// Errors: one line "NAME: …": unreadable, empty, not a recording, made by a newer version.
host::Result<profile::Recording> read_recording(int fd, std::string_view name);

}  // namespace swipr::importers
