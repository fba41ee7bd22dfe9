#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/commands/export_recording.h"
#include "cli/commands/output_file.h"
#include "cli/commands/terminal.h"

namespace swipr::commands {

Outcome run_convert(const options::ConvertOptions& options) {
  if (options.output == "-" && is_binary(options.format) && ::isatty(STDOUT_FILENO) == 1) {
    return Failure{
        fmt::format(
            "convert: {} is binary and standard output is a terminal; use -o FILE or > FILE",
            format_name(options.format)),
        kWrongUsage};
  }
  if (options.input == "-" && ::isatty(STDIN_FILENO) == 1) {
    return Failure{"convert: no recording on standard input; name a file, or use < FILE",
                   kWrongUsage};
  }
  if (options.output == "-") end_without_reader();
  // Before the work, so that a wrong path costs nobody the conversion of a large recording.
  auto output = OutputFile::create(options.output);
  if (!output) return output.error();
  auto recording = load_recording_for(options.format, options.input);
  if (!recording) return recording.error();
  profile::keep_states(*recording, options.states);
  ExportOptions writing;
  writing.format = options.format;
  writing.weight = options.weight;
  writing.state_frames = options.state_frames;
  writing.symbols = options.symbols;
  writing.file_lines = options.file_lines;
  std::vector<std::string> notes = recording->warnings;
  auto written = export_recording(*recording, writing, output->fd(), output->name(), notes);
  if (written) written = output->commit();
  if (!written) return written.error();
  print_notes(notes);
  return kDone;
}

}  // namespace swipr::commands
