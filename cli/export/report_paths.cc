#include "cli/export/report_paths.h"

#include "cli/export/text.h"

namespace swipr::exporters {

profile::HotPaths report_paths(const profile::Recording& recording, const profile::Names& names,
                               const ReportOptions& options, std::size_t max_nodes) {
  // CPU time is spent running, whatever the thread was found waiting in afterwards.
  const auto state_name = [&](profile::State state, std::uint32_t stack) {
    return options.weight == profile::Weight::kCpu ? "" : state_frame(recording, state, stack);
  };
  return profile::hot_paths(recording, names, options.weight, state_name, max_nodes);
}

}  // namespace swipr::exporters
