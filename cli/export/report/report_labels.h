// The labels of threads in a text report.
#pragma once

#include "cli/export/report/report.h"
#include "cli/export/report/terminal_page.h"
#include "cli/profile/recording/recording.h"

namespace swipr::exporters {

// Prints, for each key, its values with their times; nothing if no thread had a label.
void put_labels(TerminalPage& page, const profile::Recording& recording,
                const ReportOptions& options);

}  // namespace swipr::exporters
