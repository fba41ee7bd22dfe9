#include <fmt/format.h>

#include "cli/export/formats/collapsed_stacks.h"
#include "cli/export/text/text.h"

namespace swipr::exporters {

host::Result<void> write_collapsed(const profile::Recording& recording, const profile::Names& names,
                                   const Options& options, Sink& sink) {
  CollapsedStacks stacks(recording, names, options);
  const bool compares = options.first_base_process != profile::kNone;
  const auto lines = stacks.collect(options.weight_or_samples(), [](const profile::Thread& thread) {
    return frame_text(thread_name(thread)) + ';';
  });
  for (const CollapsedStacks::Line& line : lines) {
    sink.write(stacks.root(line));
    sink.write(stacks.rest(line));
    sink.write(compares ? fmt::format(" {} {}\n", line.base, line.own)
                        : fmt::format(" {}\n", line.own));
  }
  return sink.flush();
}

}  // namespace swipr::exporters
