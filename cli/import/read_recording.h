// Reads a recording from a descriptor. The first bytes identify the format.
#pragma once

#include <string_view>

#include "cli/profile/recording/recording.h"
#include "common/host/result.h"

namespace swipr::importers {

// Reads `fd` to its end. `name` is for messages.
// Blocks: while reads of the descriptor block.
// Errors: one line "NAME: …": unreadable, empty, not a recording, made by a newer version.
host::Result<profile::Recording> read_recording(int fd, std::string_view name);

}  // namespace swipr::importers
