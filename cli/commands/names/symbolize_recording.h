// Symbolizes all frames of a recording. Each distinct address of a module is looked up once.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/names/lock_variables.h"
#include "cli/options/options.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "cli/session/stream/stream_meter.h"
#include "symbolize/symbolizer.h"

namespace swipr::commands {

struct NamedRecording {
  profile::Names names;
  std::vector<std::string> notes;  // what was missing, one line per module
};

// A frame without a symbol is named "[module+0xoffset]" (an image address, as for addr2line),
// outside of all modules "[0xaddress]". Changes `recording`: frames in generated code that was
// replaced during the recording are split (JitFrames).
NamedRecording symbolize_recording(profile::Recording& recording,
                                   const options::SymbolOptions& options);
// … with names of these locks instead of those of its stacks.
NamedRecording symbolize_recording(profile::Recording& recording,
                                   const options::SymbolOptions& options, const LockPlaces& locks);

// Returns all names that symbolize_recording() needs on a machine without the files. `notes`:
// names that are missing.
profile::EmbeddedNames names_to_embed(profile::Recording& recording,
                                      std::vector<std::string>& notes);

// Fetches files of modules that cannot be opened here from their processes while these run,
// because a raw recording is converted later.
void fetch_unreachable_modules(const session::SeenModules& modules);

// Statistics of the names of one module.
struct ModuleExplanation {
  std::size_t addresses = 0;  // distinct ones in the recording
  std::size_t named = 0;
  std::size_t with_lines = 0;
  std::size_t embedded = 0;  // named by the recording
  symbolize::Symbolizer::Sources sources;
  std::string note;
};

// Shape: parallel to Recording::modules.
std::vector<ModuleExplanation> explain_names(profile::Recording& recording,
                                             options::SymbolOptions options);

}  // namespace swipr::commands
