// Names for all frames of a recording: each distinct address of a module is looked up once.
#pragma once

#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/profile/names.h"
#include "cli/profile/recording.h"

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

}  // namespace swipr::commands
