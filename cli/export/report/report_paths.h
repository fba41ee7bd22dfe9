// The hottest paths, for text and JSON reports.
#pragma once

#include <cstddef>

#include "cli/export/report/report.h"
#include "cli/profile/tables/hot_paths.h"

namespace swipr::exporters {

profile::HotPaths report_paths(const profile::Recording& recording, const profile::Names& names,
                               const ReportOptions& options, std::size_t max_nodes);

}  // namespace swipr::exporters
