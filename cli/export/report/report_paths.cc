#include "cli/export/report/report_paths.h"

#include "cli/export/text/text.h"

namespace swipr::exporters {

profile::HotPaths report_paths(const profile::Recording& recording, const profile::Names& names,
                               const ReportOptions& options, std::size_t max_nodes) {
  // CPU time belongs to running code, not to the wait in which the thread was found later.
  const auto state_name = [&](profile::State state, std::uint32_t stack) {
    return options.weight == profile::Weight::kCpu ? "" : state_frame(recording, state, stack);
  };
  return profile::hot_paths(recording, names, options.weight, state_name, max_nodes);
}

}  // namespace swipr::exporters
