// `swipr view --live`: a page that follows a process.
#pragma once

#include "cli/commands/output/outcome.h"
#include "cli/options/options.h"

namespace swipr::commands {

// Serves the page until the process ends or a signal arrives.
Outcome run_live_view(const options::ViewOptions& options);

}  // namespace swipr::commands
