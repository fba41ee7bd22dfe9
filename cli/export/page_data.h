// A recording as the JSON that the page's scripts read (cli/export/web/profile.js).
// Errors: none of its own; the sink keeps them.
#pragma once

#include "cli/export/export.h"

namespace swipr::exporters {

// One JSON object, one of its members per line.
void write_page_data(const profile::Recording& recording, const profile::Names& names,
                     const Options& options, Sink& sink);

}  // namespace swipr::exporters
