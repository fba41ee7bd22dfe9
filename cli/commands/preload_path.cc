#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/export/text/sink.h"
#include "cli/session/launch/program.h"

namespace swipr::commands {

Outcome run_preload_path() {
  const auto path = session::find_installed_preload();
  if (!path) return path.error();
  exporters::Sink out(STDOUT_FILENO, "standard output");
  out.write(*path + "\n");
  if (auto written = out.flush(); !written) return written.error();
  return kDone;
}

}  // namespace swipr::commands
