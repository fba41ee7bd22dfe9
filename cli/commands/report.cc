#include "cli/export/report.h"

#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/commands/export_recording.h"
#include "cli/commands/symbolize_recording.h"
#include "cli/commands/terminal.h"

namespace swipr::commands {

Outcome run_report(const options::ReportOptions& options) {
  if (options.input == "-" && ::isatty(STDIN_FILENO) == 1) {
    return Failure{"report: no recording on standard input; name a file, or use < FILE",
                   kWrongUsage};
  }
  end_without_reader();
  auto recording = load_recording(options.input);
  if (!recording) return recording.error();
  profile::credit_cpu(*recording);
  profile::keep_states(*recording, options.states);
  const NamedRecording named = symbolize_recording(*recording, options.symbols);
  exporters::ReportOptions writing;
  writing.weight = options.weight.value_or(profile::natural_weight(*recording));
  writing.function_count = options.function_count;
  writing.columns = terminal_columns(STDOUT_FILENO);
  exporters::Sink sink(STDOUT_FILENO, "standard output");
  const auto write = options.json ? exporters::write_report_json : exporters::write_report_text;
  if (auto written = write(*recording, named.names, writing, sink); !written)
    return written.error();
  print_notes(recording->warnings);
  print_notes(named.notes);
  return kDone;
}

}  // namespace swipr::commands
