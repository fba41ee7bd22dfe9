#include "cli/export/report/report.h"

#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/commands/names/symbolize_recording.h"
#include "cli/commands/output/filters.h"
#include "cli/commands/output/terminal.h"

namespace swipr::commands {

Outcome run_report(const options::ReportOptions& options) {
  if (options.inputs.front() == "-" && ::isatty(STDIN_FILENO) == 1) {
    return Failure{"report: no recording on standard input; name a file, or use < FILE",
                   kWrongUsage};
  }
  end_without_reader();
  auto inputs = load_inputs(options.inputs, "", options.filters, Credit::kYes);
  if (!inputs) return inputs.error();
  profile::Recording* recording = &inputs->recording;
  NamedRecording named = symbolize_recording(*recording, options.symbols);
  if (auto kept = filter_stacks(*recording, named.names, options.filters); !kept) {
    return kept.error();
  }
  exporters::ReportOptions writing;
  writing.weight = options.weight.value_or(profile::natural_weight(*recording));
  writing.row_count = options.row_count;
  writing.columns = terminal_columns(STDOUT_FILENO);
  writing.coloured = shows_colours(STDOUT_FILENO);
  exporters::Sink sink(STDOUT_FILENO, "standard output");
  const auto write = options.json ? exporters::write_report_json : exporters::write_report_text;
  if (auto written = write(*recording, named.names, writing, sink); !written)
    return written.error();
  print_notes(recording->warnings);
  print_notes(named.notes);
  return kDone;
}

}  // namespace swipr::commands
