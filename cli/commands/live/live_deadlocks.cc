#include "cli/commands/live/live_deadlocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "cli/export/text/json_text.h"

namespace swipr::commands {

std::string LiveDeadlocks::describe(const profile::Recording& recording,
                                    const profile::Names& names) const {
  const std::vector<profile::LockCycle> cycles = waits_.find_cycles(recording, names);
  std::string out = "[";
  for (std::size_t at = 0; at < std::min(kMost, cycles.size()); ++at) {
    fmt::format_to(std::back_inserter(out), "{}{{\"text\":{},\"waited_ns\":{}}}",
                   at == 0 ? "" : ",", exporters::json_string(profile::describe(cycles[at])),
                   cycles[at].waited.count());
  }
  return out + "]";
}

}  // namespace swipr::commands
