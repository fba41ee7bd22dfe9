// Names for all frames of a recording: each distinct address of a module is looked up once.
#pragma once

#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/profile/names.h"
#include "cli/profile/recording.h"
#include "cli/session/stream/stream_meter.h"
#include "symbolize/symbolizer.h"

namespace swipr::commands {

struct NamedRecording {
  profile::Names names;
  std::vector<std::string> notes;  // what was missing, one line per module
};

// A frame without a symbol is called "[module+0xoffset]" (an address of the image, as addr2line
// takes it), outside of every module "[0xaddress]". Frames in generated code that was replaced
// while it was recorded become several (JitFrames), hence `recording` changes.
NamedRecording symbolize_recording(profile::Recording& recording,
                                   const options::SymbolOptions& options);

// What symbolize_recording() needs for this recording where none of the files are. `notes`: what
// was missing already.
profile::EmbeddedNames names_to_embed(profile::Recording& recording,
                                      std::vector<std::string>& notes);

// Fetches the files of those modules that cannot be opened from here from their processes, while
// these live: a recording that stays raw is converted later.
void fetch_unreachable_modules(const session::SeenModules& modules);

// What is known about the names of one module's frames.
struct ModuleExplanation {
  std::size_t addresses = 0;  // distinct ones in the recording
  std::size_t named = 0;
  std::size_t with_lines = 0;
  std::size_t embedded = 0;  // named by the recording itself
  symbolize::Symbolizer::Sources sources;
  std::string note;
};

// Shape: parallel to Recording::modules.
std::vector<ModuleExplanation> explain_names(profile::Recording& recording,
                                             options::SymbolOptions options);

}  // namespace swipr::commands
