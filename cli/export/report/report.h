// Reports as text or JSON: totals, hot functions, hot paths, threads and waits.
// Errors: those of the sink.
#pragma once

#include <cstddef>

#include "cli/export/text/sink.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "common/host/result.h"

namespace swipr::exporters {

struct ReportSplit;  // report_split.h

struct ReportOptions {
  profile::Weight weight = profile::Weight::kCpu;
  // Limit of functions, threads and waits; paths: twice as many; processes: a quarter.
  std::size_t row_count = 20;
  std::size_t columns = 0;             // truncate lines to this width; 0: no limit
  bool coloured = false;               // for a terminal with colours
  const ReportSplit* split = nullptr;  // a comparison that comes first; nullptr: none
};

host::Result<void> write_report_text(const profile::Recording& recording,
                                     const profile::Names& names, const ReportOptions& options,
                                     Sink& sink);

// {"processes":[{…,"totals":{}}],"functions":[{"function","self","total"}],
// "paths":[{"function","depth","self","total","levels"}],"threads":[…],
// "labels":[{"key","value","samples","cpu_ns","runqueue_ns","blocked_ns"}] if threads had some,
// "waits":[{"syscall","channel","samples","threads","blocked_ns"}],"weight","weight_unit","weight_total",
// "warnings":[],"deadlocks":[{"waited_ns","waits"}] if there are some}; all times in nanoseconds.
// Paths are a tree, parents before their children; "levels" counts the calls of a recursion that is
// folded into one node.
host::Result<void> write_report_json(const profile::Recording& recording,
                                     const profile::Names& names, const ReportOptions& options,
                                     Sink& sink);

}  // namespace swipr::exporters
