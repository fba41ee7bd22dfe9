// What slow calls of traced functions do that others do not, as a part of a report.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/export/report/report.h"
#include "cli/export/report/terminal_page.h"
#include "cli/profile/call_split.h"
#include "cli/profile/split_locks.h"

namespace swipr::exporters {

struct ReportSplit {
  std::string function;
  std::string rule;  // of the threshold, as typed: "p95"
  std::chrono::nanoseconds threshold{0};
  profile::SplitComparison comparison;
  std::vector<profile::SplitLock> locks;
};

void put_split(TerminalPage& page, const ReportSplit& split, const ReportOptions& options);
nlohmann::ordered_json split_json(const ReportSplit& split);

}  // namespace swipr::exporters
