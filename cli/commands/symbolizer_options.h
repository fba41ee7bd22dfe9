// What the user says about names, for the symbolizer.
#pragma once

#include "cli/options/options.h"
#include "symbolize/symbolizer.h"

namespace swipr::commands {

// With this user's cache, the servers of DEBUGINFOD_URLS, and the recorded processes as the last
// place where files are looked for.
symbolize::Options symbolizer_options(const options::SymbolOptions& chosen);

// Makes the folder in which recorded programs of this user keep unwind tables for each other, and
// removes the oldest beyond 256 MiB. They make none themselves. Not with SWIPR_CACHE=off.
void offer_table_folder();

}  // namespace swipr::commands
