// Where `swipr record` puts what it records: the raw bytes straight into a file, so that nothing is
// lost when swipr is killed. For another format than raw they go to a file without a name, which is
// converted at the end and gets a name only where that fails.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/output_file.h"
#include "cli/options/options.h"
#include "cli/session/stream/recording_file.h"
#include "common/core/ids.h"
#include "common/host/result.h"

namespace swipr::commands {

// "PROGRAM-PID-YYYYmmdd-HHMMSS" and the suffix, in local time, without slashes and control
// characters.
std::string make_file_name(std::string_view program, Pid pid, const std::tm& time,
                           std::string_view suffix);

// The same with the present time, and a number if there is such a file already: two recordings
// within a second are two recordings.
std::string make_free_name(std::string_view program, Pid pid, std::string_view suffix);

class RecordOutput {
 public:
  // Everything is opened here, before anything is recorded. `program` and `pid` name the file when
  // the options do not. Errors: the output cannot be written.
  static host::Result<RecordOutput> open(const options::RecordOptions& options,
                                         std::string_view program, Pid pid);

  session::RecordingFile& raw() { return raw_; }
  // The name that the user asked for or is told.
  const std::string& name() const { return name_; }
  // True for a .swipr file that stays: it can be converted later.
  bool keeps_raw_file() const { return !converted_ && raw_.is_regular(); }
  // Says where the raw bytes are after a failure, as the end of a message ("; the 12 bytes recorded
  // until then are in FILE"), and gives them a name first if they have none. Empty: there are none.
  std::string keep_raw();

  // After the recording, with --embed-symbols: puts the names of its addresses behind it.
  host::Result<void> embed_names(std::vector<std::string>& notes);
  // After the recording: closes the raw file, and converts it if that was asked for.
  host::Result<void> finish(options::Format format, std::vector<std::string>& notes);

 private:
  RecordOutput(session::RecordingFile raw, std::string name, std::optional<OutputFile> converted);
  host::Result<void> convert(options::Format format, std::vector<std::string>& notes);

  session::RecordingFile raw_;
  std::string name_;
  std::optional<OutputFile> converted_;
};

}  // namespace swipr::commands
