// The output of `swipr record`. Raw bytes go directly to a file, so that nothing is lost if
// swipr is killed. For other formats they go to an unnamed file, which is converted at the end
// and gets a name only if that fails.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/output/output_file.h"
#include "cli/options/options.h"
#include "cli/session/stream/recording_file.h"
#include "common/core/ids.h"
#include "common/host/result.h"

namespace swipr::commands {

// "PROGRAM-PID-YYYYmmdd-HHMMSS" and the suffix, in local time, without slashes and control
// characters.
std::string make_file_name(std::string_view program, Pid pid, const std::tm& time,
                           std::string_view suffix);

// The same with the current time. A number is appended if the file exists, because two
// recordings may start within a second.
std::string make_free_name(std::string_view program, Pid pid, std::string_view suffix);

class RecordOutput {
 public:
  // Opens all files before the recording starts. `program` and `pid` name the file if the
  // options do not.
  // Errors: the output cannot be written.
  static host::Result<RecordOutput> open(const options::RecordOptions& options,
                                         std::string_view program, Pid pid);

  session::RecordingFile& raw() { return raw_; }
  // The name of the output, for messages.
  const std::string& name() const { return name_; }
  // True if the output is a .swipr file, which can be converted later.
  bool keeps_raw_file() const { return !converted_ && raw_.is_regular(); }
  // After a failure: gives the raw file a name if it has none, and returns the end of the
  // message ("; the 12 bytes recorded until then are in FILE"); empty if there are no bytes.
  std::string keep_raw();

  // After the recording, with --embed-symbols: appends the names of its addresses.
  host::Result<void> embed_names(std::vector<std::string>& notes);
  // After the recording: closes the raw file and converts it if the format is not raw.
  host::Result<void> finish(options::Format format, std::vector<std::string>& notes);

 private:
  RecordOutput(session::RecordingFile raw, std::string name, std::optional<OutputFile> converted);
  host::Result<void> convert(options::Format format, std::vector<std::string>& notes);

  session::RecordingFile raw_;
  std::string name_;
  std::optional<OutputFile> converted_;
};

}  // namespace swipr::commands
