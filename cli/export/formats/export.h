// The output formats. Each writer takes a recording and the names of its frames, writes one
// complete file to the sink and flushes it.
// Errors: those of the sink.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/export/text/sink.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "common/host/host_facts.h"
#include "common/host/result.h"

namespace swipr::exporters {

// Whether the state of a thread that does not run is added as the innermost frame: the system
// call in which it waits ("[poll]"), "[blocked]", or "[runnable]" if it waits for a CPU.
enum class StateFrames : unsigned char {
  kByFormat,  // perf, html, speedscope, firefox: yes; collapsed: no; pprof has labels instead
  kYes,
  kNo,
};

// The labels of samples in a pprof file. Stores such as Pyroscope make a series of each distinct
// set of labels with text.
enum class PprofLabels : unsigned char {
  kAll,     // thread, tid, state, what it waits for, pid, those that the program has set
  kOwn,     // only those that the program has set; threads and states are merged
  kThread,  // only the name of the thread; states are merged
  kNone,    // threads and states are merged
};

// Where a process runs and what it is, for col files.
struct ColOrigin {
  std::string container;    // empty: none
  std::string application;  // "gunicorn: shop.wsgi:app"
};

struct Options {
  std::optional<profile::Weight> weight{};  // none: default of the format, mostly samples
  profile::Weight weight_or_samples() const { return weight.value_or(profile::Weight::kSamples); }
  StateFrames state_frames = StateFrames::kByFormat;
  bool frame_kinds = false;   // collapsed only: suffixes such as "_[p]" after names
  bool module_names = false;  // collapsed, col: " (/lib/libc.so.6)" after native functions
  bool source_lines = false;  // perf: a "  file:line" line after every frame; html: their texts
  PprofLabels pprof_labels = PprofLabels::kAll;  // pprof only; not kAll: without a base
  std::vector<profile::Weight> pprof_types{};    // pprof only: no others; empty: all
  std::size_t pprof_max_frames = 0;              // of a stack, cut in the middle; 0: all
  bool inverted = false;   // html only: start with callers below the functions
  host::HostFacts host{};  // col only: of the recorded machine
  // col only: what one sample stands for. 0: the interval of the first process that has one.
  std::chrono::nanoseconds col_interval{0};
  // col only: more metadata, from static_metadata() of col_header.h; empty: none.
  std::string metadata{};
  // col only. Shape: parallel to the processes; empty: no containers, native applications.
  std::vector<ColOrigin> origins{};
  // html, pprof, collapsed: the threads of this and all later processes are the base of the
  // comparison.
  std::uint32_t first_base_process = profile::kNone;
  bool is_base(const profile::Thread& thread) const { return thread.process >= first_base_process; }
};

// As `perf script` prints it. Samples without weight are omitted.
host::Result<void> write_perf(const profile::Recording& recording, const profile::Names& names,
                              const Options& options, Sink& sink);

// Gzipped profile.proto with all weights. The selected weight is the default and the last one.
host::Result<void> write_pprof(const profile::Recording& recording, const profile::Names& names,
                               const Options& options, Sink& sink);

// Limits of a store for one profile.
struct PprofLimits {
  std::size_t samples = 16'000;
  std::size_t bytes = std::size_t{4} << 20;  // uncompressed
};
// The same as several profiles within the limits, uncompressed, without samples that weigh nothing
// in any of `pprof_types`. Empty: there is no other. A single stack may exceed the limit of bytes.
std::vector<std::string> make_pprof_pieces(const profile::Recording& recording,
                                           const profile::Names& names, const Options& options,
                                           const PprofLimits& limits);

// "thread;root;…;leaf weight", sorted. With a base: "… base-weight weight", as difffolded.pl
// writes and flamegraph.pl reads it.
host::Result<void> write_collapsed(const profile::Recording& recording, const profile::Names& names,
                                   const Options& options, Sink& sink);

// gProfiler's format: a header, then "application index;container;command;appid;root;…;leaf count".
// The default weight is CPU time; times become samples at the recording's rate.
host::Result<void> write_col(const profile::Recording& recording, const profile::Names& names,
                             const Options& options, Sink& sink);

// JSON of speedscope: a profile per thread in order of time, the busiest one first. The default
// weight is wall time, for an exact time axis.
host::Result<void> write_speedscope(const profile::Recording& recording,
                                    const profile::Names& names, const Options& options,
                                    Sink& sink);

// Gzipped JSON for the Firefox Profiler: threads in order of time, states as categories.
host::Result<void> write_firefox(const profile::Recording& recording, const profile::Names& names,
                                 const Options& options, Sink& sink);

// A self-contained HTML page: flame graph, timeline, functions.
host::Result<void> write_html(const profile::Recording& recording, const profile::Names& names,
                              const Options& options, Sink& sink);

// Another page of the same data: all threads over time, and short tables of functions and waits.
host::Result<void> write_overview(const profile::Recording& recording, const profile::Names& names,
                                  const Options& options, Sink& sink);

// Placeholder of links to other pages; occurs once in both pages.
inline constexpr std::string_view kPageLinks = "<nav id=\"links\" hidden></nav>";

}  // namespace swipr::exporters
