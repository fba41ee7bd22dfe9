// Generated code: which frames of a recording are in it, and what was there when they were taken.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/profile/recording.h"
#include "symbolize/generated/jit_symbols.h"

namespace swipr::commands {

class JitFrames {
 public:
  // Takes the code that the recording carries; of processes that were seen in generated code, and
  // whose code was not looked up when it was recorded, reads the perf maps and jitdump files: below
  // /proc/PID/root while they live, else at their place, or below `symfs`. Code that was replaced
  // during the recording makes one frame several, and stacks with them; hence `recording` changes.
  // Lifetime: `recording` outlives this object.
  JitFrames(profile::Recording& recording, const std::string& symfs);

  struct Name {
    std::string_view function, file;
    std::uint32_t line = 0;
    std::uint64_t offset = 0;
  };
  // The frame's code has no file.
  bool is_generated(std::uint32_t frame) const;
  // Files that were not believed, one line each.
  const std::vector<std::string>& notes() const { return notes_; }
  // None: not generated code, or its compiler did not name it.
  std::optional<Name> find(std::uint32_t frame) const;
  // All that was known at the addresses of the recording and that it does not carry itself.
  std::vector<profile::EmbeddedCode> code() const;

 private:
  struct Splitter;

  std::vector<symbolize::JitSymbols> symbols_;                       // by process
  std::vector<std::optional<symbolize::JitSymbols::Place>> places_;  // by frame
  const profile::Recording* recording_;
  std::vector<std::string> notes_;
};

}  // namespace swipr::commands
