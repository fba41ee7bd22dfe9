// A recording into one of the output formats: the one way that convert, record, answer share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/options.h"
#include "cli/profile/recording.h"
#include "common/host/result.h"

namespace swipr::commands {

struct ExportOptions {
  options::Format format = options::Format::kPerf;  // never kRaw
  std::optional<profile::Weight> weight;            // none: what suits the format
  options::StateFrames state_frames = options::StateFrames::kByFormat;
  options::SymbolOptions symbols;
  bool file_lines = false;
  options::FilterOptions filters;  // of functions; samples are filtered when they are read
  bool invert = false;
  std::uint32_t first_base_process = profile::kNone;  // see exporters::Options
};

// Symbolizes, filters (both change `recording`) and writes to `fd`; `name` is for messages. What
// was missing is added to `notes`.
host::Result<void> export_recording(profile::Recording& recording, const ExportOptions& options,
                                    int fd, const std::string& name,
                                    std::vector<std::string>& notes);

// Usual end of a file's name: ".perf", ".pb.gz", ".collapsed", ".html", ".swipr".
std::string_view file_suffix(options::Format format);
// Not for terminals.
bool is_binary(options::Format format);
// Samples in order of time rather than added up.
bool keeps_order_of_time(options::Format format);
// As on the command line.
std::string_view format_name(options::Format format);

// Opens and reads a recording; "-" is standard input.
host::Result<profile::Recording> load_recording(const std::string& path);
// Of a descriptor at its beginning; `name` is for messages.
host::Result<profile::Recording> load_recording(int fd, const std::string& name);
// The same for adding up (CPU time credited to running stacks), unless the format keeps the order
// of time.
host::Result<profile::Recording> load_recording_for(options::Format format, int fd,
                                                    const std::string& name);

}  // namespace swipr::commands
