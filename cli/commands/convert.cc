#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/commands/explain.h"
#include "cli/commands/output/export_recording.h"
#include "cli/commands/output/filters.h"
#include "cli/commands/output/output_file.h"
#include "cli/commands/output/terminal.h"

namespace swipr::commands {

Outcome run_convert(const options::ConvertOptions& options) {
  if (options.output == "-" && is_binary(options.format) && ::isatty(STDOUT_FILENO) == 1) {
    return Failure{
        fmt::format(
            "convert: {} is binary and standard output is a terminal; use -o FILE or > FILE",
            format_name(options.format)),
        kWrongUsage};
  }
  if (options.inputs.front() == "-" && ::isatty(STDIN_FILENO) == 1) {
    return Failure{"convert: no recording on standard input; name a file, or use < FILE",
                   kWrongUsage};
  }
  if (options.output == "-") end_without_reader();
  if (options.explain) return run_explain(options);
  // Before the conversion, so that a wrong path is reported at once.
  auto output = OutputFile::create(options.output);
  if (!output) return output.error();
  auto inputs = load_inputs(options.inputs, options.base, options.filters,
                            keeps_order_of_time(options.format) ? Credit::kNo : Credit::kYes);
  if (!inputs) return inputs.error();
  ExportOptions writing;
  writing.format = options.format;
  writing.weight = options.weight;
  writing.state_frames = options.state_frames;
  writing.symbols = options.symbols;
  writing.file_lines = options.file_lines;
  writing.frame_kinds = options.frame_kinds;
  writing.pprof_labels = options.pprof_labels;
  writing.filters = options.filters;
  writing.invert = options.invert;
  writing.first_base_process = inputs->first_base_process;
  std::vector<std::string> notes = inputs->recording.warnings;
  auto written = export_recording(inputs->recording, writing, output->fd(), output->name(), notes);
  if (written) written = output->commit();
  if (!written) return written.error();
  print_notes(notes);
  return kDone;
}

}  // namespace swipr::commands
