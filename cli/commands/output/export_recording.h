// Converts a recording to an output format. Shared by convert, record and answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/options.h"
#include "cli/profile/recording/recording.h"
#include "common/host/result.h"

namespace swipr::commands {

struct ExportOptions {
  options::Format format = options::Format::kPerf;  // never kRaw
  std::optional<profile::Weight> weight;            // none: default of the format
  options::StateFrames state_frames = options::StateFrames::kByFormat;
  options::SymbolOptions symbols;
  bool file_lines = false;
  bool frame_kinds = false;
  options::PprofLabels pprof_labels = options::PprofLabels::kAll;
  options::FilterOptions filters;  // filters of functions; samples are filtered on input
  bool invert = false;
  std::uint32_t first_base_process = profile::kNone;  // see exporters::Options
};

// Symbolizes and filters (both change `recording`) and writes to `fd`. `name` is for messages.
// Notes about missing names are added to `notes`.
host::Result<void> export_recording(profile::Recording& recording, const ExportOptions& options,
                                    int fd, const std::string& name,
                                    std::vector<std::string>& notes);

// Usual suffix of a file: ".perf", ".pb.gz", ".collapsed", ".html", ".swipr".
std::string_view file_suffix(options::Format format);
// True if the format must not be written to a terminal.
bool is_binary(options::Format format);
// True if the format keeps samples in order of time; the others aggregate.
bool keeps_order_of_time(options::Format format);
// The name used on the command line.
std::string_view format_name(options::Format format);

// Opens and reads a recording; "-" is standard input.
host::Result<profile::Recording> load_recording(const std::string& path);
// Reads a descriptor that is at its start; `name` is for messages.
host::Result<profile::Recording> load_recording(int fd, const std::string& name);
// The same, with CPU time credited to running stacks if the format aggregates.
host::Result<profile::Recording> load_recording_for(options::Format format, int fd,
                                                    const std::string& name);

}  // namespace swipr::commands
