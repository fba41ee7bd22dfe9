#include "cli/commands/output/export_recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cli/commands/names/symbolize_recording.h"
#include "cli/commands/output/filters.h"
#include "cli/export/formats/export.h"
#include "cli/import/read_recording.h"
#include "common/host/unique_fd.h"

namespace swipr::commands {

namespace {

exporters::StateFrames state_frames_of(options::StateFrames chosen) {
  switch (chosen) {
    case options::StateFrames::kOn:
      return exporters::StateFrames::kYes;
    case options::StateFrames::kOff:
      return exporters::StateFrames::kNo;
    case options::StateFrames::kByFormat:
      break;
  }
  return exporters::StateFrames::kByFormat;
}

exporters::PprofLabels labels_of(options::PprofLabels chosen) {
  switch (chosen) {
    case options::PprofLabels::kOwn:
      return exporters::PprofLabels::kOwn;
    case options::PprofLabels::kThread:
      return exporters::PprofLabels::kThread;
    case options::PprofLabels::kNone:
      return exporters::PprofLabels::kNone;
    case options::PprofLabels::kAll:
      break;
  }
  return exporters::PprofLabels::kAll;
}

}  // namespace

host::Result<void> export_recording(profile::Recording& recording, const ExportOptions& options,
                                    int fd, const std::string& name,
                                    std::vector<std::string>& notes) {
  NamedRecording named = symbolize_recording(recording, options.symbols);
  notes.insert(notes.end(), std::make_move_iterator(named.notes.begin()),
               std::make_move_iterator(named.notes.end()));
  const auto base = filter_stacks(recording, named.names, options.filters);
  if (!base) return base.error();
  exporters::Options writing;
  writing.weight = options.weight;
  writing.state_frames = state_frames_of(options.state_frames);
  writing.first_base_process = std::min(options.first_base_process, *base);
  if (options.invert && options.format == options::Format::kHtml) {
    writing.inverted = true;
  } else if (options.invert) {
    const bool by_format = options.format == options::Format::kSpeedscope &&
                           writing.state_frames == exporters::StateFrames::kByFormat;
    invert_stacks(recording, named.names,
                  by_format || writing.state_frames == exporters::StateFrames::kYes);
    writing.state_frames = exporters::StateFrames::kNo;
  }
  writing.source_lines = options.file_lines;
  writing.frame_kinds = options.frame_kinds;
  writing.pprof_labels = labels_of(options.pprof_labels);
  exporters::Sink sink(fd, name);
  switch (options.format) {
    case options::Format::kPerf:
      return exporters::write_perf(recording, named.names, writing, sink);
    case options::Format::kPprof:
      return exporters::write_pprof(recording, named.names, writing, sink);
    case options::Format::kCollapsed:
      return exporters::write_collapsed(recording, named.names, writing, sink);
    case options::Format::kCol:
      writing.host = host::read_host_facts();
      return exporters::write_col(recording, named.names, writing, sink);
    case options::Format::kSpeedscope:
      return exporters::write_speedscope(recording, named.names, writing, sink);
    case options::Format::kFirefox:
      return exporters::write_firefox(recording, named.names, writing, sink);
    case options::Format::kHtml:
      return exporters::write_html(recording, named.names, writing, sink);
    case options::Format::kRaw:
      break;
  }
  return host::Error("raw is not a target format");
}

std::string_view file_suffix(options::Format format) {
  switch (format) {
    case options::Format::kPerf:
      return ".perf";
    case options::Format::kPprof:
      return ".pb.gz";
    case options::Format::kCollapsed:
      return ".collapsed";
    case options::Format::kCol:
      return ".col";
    case options::Format::kSpeedscope:
      return ".speedscope.json";
    case options::Format::kFirefox:
      return ".firefox.json.gz";
    case options::Format::kHtml:
      return ".html";
    case options::Format::kRaw:
      break;
  }
  return ".swipr";
}

bool is_binary(options::Format format) {
  return format == options::Format::kRaw || format == options::Format::kPprof ||
         format == options::Format::kFirefox;
}

bool keeps_order_of_time(options::Format format) {
  return format == options::Format::kSpeedscope || format == options::Format::kFirefox;
}

std::string_view format_name(options::Format format) {
  switch (format) {
    case options::Format::kPerf:
      return "perf";
    case options::Format::kPprof:
      return "pprof";
    case options::Format::kCollapsed:
      return "collapsed";
    case options::Format::kCol:
      return "col";
    case options::Format::kSpeedscope:
      return "speedscope";
    case options::Format::kFirefox:
      return "firefox";
    case options::Format::kHtml:
      return "html";
    case options::Format::kRaw:
      break;
  }
  return "raw";
}

host::Result<profile::Recording> load_recording(const std::string& path) {
  if (path == "-") return load_recording(STDIN_FILENO, "standard input");
  const host::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return host::system_error(fmt::format("cannot read {}", path), errno);
  return load_recording(fd.value(), path);
}

host::Result<profile::Recording> load_recording(int fd, const std::string& name) {
  return importers::read_recording(fd, name);
}

host::Result<profile::Recording> load_recording_for(options::Format format, int fd,
                                                    const std::string& name) {
  auto recording = load_recording(fd, name);
  if (recording && !keeps_order_of_time(format)) profile::credit_cpu(*recording);
  return recording;
}

}  // namespace swipr::commands
