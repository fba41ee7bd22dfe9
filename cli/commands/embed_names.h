// `record --embed-symbols`: what the converter needs for the addresses seen goes into the
// recording.
#pragma once

#include "cli/profile/recording.h"
#include "cli/session/stream/recording_file.h"
#include "common/host/result.h"

namespace swipr::commands {

// Writes names behind what the file has already; `recording` is what was read from it, and the
// names that belong to it. What no block can hold is left out; files name it as if nothing were
// here. Errors: those of the file.
host::Result<void> write_names(const profile::EmbeddedNames& names,
                               const profile::Recording& recording, session::RecordingFile& file);

}  // namespace swipr::commands
