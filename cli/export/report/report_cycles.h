// Deadlocks in reports.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/export/report/terminal_page.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::exporters {

// Prints one line for each, and nothing without any; on a page that is too narrow for it a line for
// each thread.
void put_cycles(TerminalPage& page, const profile::Recording& recording,
                const profile::Names& names);

// [{"waited_ns","waits":[{"tid","pid","name","lock"}]}]: each thread waits for a lock that the next
// one holds.
nlohmann::ordered_json cycles_json(const profile::Recording& recording,
                                   const profile::Names& names);

}  // namespace swipr::exporters
