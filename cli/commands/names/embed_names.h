// `record --embed-symbols`: stores names of the recorded addresses in the recording.
#pragma once

#include "cli/profile/recording/recording.h"
#include "cli/session/stream/recording_file.h"
#include "common/host/result.h"

namespace swipr::commands {

// Appends the names to the file. `recording` is what was read from the file. Names that are too
// large for a block are skipped; the converter then looks them up in the files.
// Errors: those of the file.
host::Result<void> write_names(const profile::EmbeddedNames& names,
                               const profile::Recording& recording, session::RecordingFile& file);

}  // namespace swipr::commands
