// The processes of a text report, and the format of its numbers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "cli/export/report/report.h"
#include "cli/export/report/terminal_page.h"
#include "cli/profile/recording/recording.h"

namespace swipr::exporters {

inline double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}
double percent(std::uint64_t part, std::uint64_t whole);
Style heat_of(double share);
// Prints "5 more" in a column that starts at `width`; nothing for 0.
void put_rest(TerminalPage& page, std::size_t width, std::size_t count);

// Prints one process with all its counters, or a table of several with their shares of the
// weight, the heaviest first.
void put_processes(TerminalPage& page, const profile::Recording& recording,
                   const ReportOptions& options);

}  // namespace swipr::exporters
