// The summary that `swipr record` prints at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/session/record_session.h"

namespace swipr::commands {

// "1,000 ticks asked, 998 delivered, 2 missed; 5,990 samples of 6 threads, 0 dropped; …"
std::string format_summary(const session::SessionTotals& totals, std::uint64_t raw_bytes);

// The command that shows the recording on the terminal.
std::string format_next_command(std::string_view raw_name);

}  // namespace swipr::commands
