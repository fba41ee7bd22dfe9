// Functions at return addresses of a process, each named once; parameters of functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/latency/function_finder.h"
#include "cli/profile/recording/recording.h"
#include "cli/trace/slow_text.h"
#include "symbolize/symbolizer.h"

namespace swipr::commands {

class CallerNames {
 public:
  // `process` has its modules.  Lifetime: the process outlives the names.
  CallerNames(const profile::Recording& process, const std::vector<std::string>& debug_directories);
  // With those inlined there, innermost first.  Lifetime: the object's.
  const std::vector<tracing::CallerFrame>& frames_at(std::uint64_t return_address);
  // Blocks: while DWARF is read.
  std::optional<symbolize::Signature> signature_of(const TracedFunction& function);

 private:
  symbolize::Symbolizer::ModuleHandle open(const profile::Module& module);
  std::vector<tracing::CallerFrame> name(std::uint64_t address);

  const profile::Recording& process_;
  symbolize::Symbolizer symbolizer_;
  std::map<std::uint64_t, std::vector<tracing::CallerFrame>> known_;
};

}  // namespace swipr::commands
