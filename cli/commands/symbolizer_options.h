// What the user says about names, for the symbolizer.
#pragma once

#include "cli/options/options.h"
#include "symbolize/symbolizer.h"

namespace swipr::commands {

// With this user's cache, the servers of DEBUGINFOD_URLS, and the recorded processes as the last
// place where files are looked for.
symbolize::Options symbolizer_options(const options::SymbolOptions& chosen);

}  // namespace swipr::commands
