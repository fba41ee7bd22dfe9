#include "cli/export/report/report_cycles.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/export/text/text.h"
#include "cli/profile/tables/lock_cycles.h"
#include "common/host/text/duration.h"

namespace swipr::exporters {

void put_cycles(TerminalPage& page, const profile::Recording& recording,
                const profile::Names& names) {
  constexpr std::string_view kNextThread = ", which ";
  for (const profile::LockCycle& cycle : profile::lock_cycles(recording, names)) {
    const std::string line = clean_text(
        fmt::format("deadlock: {} (for {})", describe(cycle), host::format_duration(cycle.waited)));
    std::string_view rest = line;
    while (page.columns() != 0 && rest.size() > page.columns()) {
      const std::size_t end = rest.find(kNextThread);
      if (end == rest.npos) break;
      page.line(rest.substr(0, end + 1), Style::kHot);
      rest.remove_prefix(end + 2);
      page.put("  ");
    }
    page.line(rest, Style::kHot);
    page.line("");
  }
}

nlohmann::ordered_json cycles_json(const profile::Recording& recording,
                                   const profile::Names& names) {
  auto result = nlohmann::ordered_json::array();
  for (const profile::LockCycle& cycle : profile::lock_cycles(recording, names)) {
    auto waits = nlohmann::ordered_json::array();
    for (const profile::LockCycle::Wait& wait : cycle.waits) {
      const profile::Thread& thread = recording.threads[wait.thread];
      waits.push_back({{"tid", thread.tid.value},
                       {"pid", recording.processes[thread.process].pid.value},
                       {"name", thread.name},
                       {"lock", wait.lock}});
    }
    result.push_back({{"waited_ns", cycle.waited.count()}, {"waits", std::move(waits)}});
  }
  return result;
}

}  // namespace swipr::exporters
