// Frames in generated code, and the code that was valid when they were recorded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/profile/recording/recording.h"
#include "symbolize/generated/jit_symbols.h"

namespace swipr::commands {

class JitFrames {
 public:
  // Uses the code stored in the recording. For other processes with frames in generated code,
  // reads perf maps and jitdump files: below /proc/PID/root while they run, else at their
  // path, or below `symfs`. Changes `recording`: frames in code that was replaced during the
  // recording are split, and stacks with them.
  // Lifetime: `recording` outlives this object.
  JitFrames(profile::Recording& recording, const std::string& symfs);

  struct Name {
    std::string_view function, file;
    std::uint32_t line = 0;
    std::uint64_t offset = 0;
    // Of the first runtime of the process whose frames swipr does not read, such as .NET.
    Language language = Language::kNative;
  };
  // True if the frame is in generated code.
  bool is_generated(std::uint32_t frame) const;
  // Files that were not trusted, one line each.
  const std::vector<std::string>& notes() const { return notes_; }
  // Returns nothing for other code, or if the compiler did not write a name.
  std::optional<Name> find(std::uint32_t frame) const;
  // All names of generated code that are not stored in the recording.
  std::vector<profile::EmbeddedCode> code() const;

 private:
  struct Splitter;

  std::vector<symbolize::JitSymbols> symbols_;                       // by process
  std::vector<std::optional<symbolize::JitSymbols::Place>> places_;  // by frame
  std::vector<Language> languages_;                                  // by process
  const profile::Recording* recording_;
  std::vector<std::string> notes_;
};

}  // namespace swipr::commands
