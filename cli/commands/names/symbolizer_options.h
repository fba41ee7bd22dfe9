// Options of the symbolizer from the command line.
#pragma once

#include "cli/options/options.h"
#include "symbolize/symbolizer.h"

namespace swipr::commands {

// Files are searched on this machine, in the user's cache, on the servers of DEBUGINFOD_URLS and
// last in the recorded processes.
symbolize::Options symbolizer_options(const options::SymbolOptions& chosen);

// Creates the folder in which recorded programs of this user share unwind tables, and removes
// the oldest files beyond 256 MiB. Recorded programs never create it. Does nothing with
// SWIPR_CACHE=off.
void offer_table_folder();

}  // namespace swipr::commands
