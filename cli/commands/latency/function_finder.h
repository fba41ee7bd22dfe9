// Finds functions of a running process by what a person calls them.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/latency/call_sites.h"
#include "cli/profile/recording/recording.h"
#include "common/core/addresses.h"
#include "common/host/result.h"

namespace swipr::commands {

struct TracedFunction {
  std::string name;
  std::string file;  // short name of its module
  std::string path;  // as the process sees it
  std::string build_id;
  ImageAddr begin;
};

struct FoundFunctions {
  std::vector<TracedFunction> functions;
  std::vector<CallSite> sites;  // of the calls that are measured; none: all
  std::vector<std::string> notes;
};

// `process` has the modules that are mapped now. `site`: FILE:LINE of the calls, or empty.  Blocks:
// while symbol tables are read; if a name is not found, or is a line, while all DWARF is. Errors:
// another machine than x86-64; not found, ambiguous, not a function of its own; with the reason,
// and what could be meant.
host::Result<FoundFunctions> find_traced_functions(
    const profile::Recording& process, const std::vector<std::string>& texts,
    const std::string& site, const std::vector<std::string>& debug_directories);

}  // namespace swipr::commands
