// Writes a recording as JSON for the scripts of the page (cli/export/web/profile.js).
// Errors: kept by the sink.
#pragma once

#include "cli/export/formats/export.h"

namespace swipr::exporters {

// One JSON object with one member per line.
void write_page_data(const profile::Recording& recording, const profile::Names& names,
                     const Options& options, Sink& sink);

}  // namespace swipr::exporters
