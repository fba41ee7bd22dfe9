// The output formats. Each writer takes a recording and the names of its frames, writes one
// whole file into the sink and flushes it. Errors: the sink's.
#pragma once

#include <optional>
#include <string_view>

#include "cli/export/sink.h"
#include "cli/profile/names.h"
#include "cli/profile/recording.h"
#include "common/host/result.h"

namespace swipr::exporters {

// Whether the state of a thread that does not run is shown as an innermost frame: the system call
// in which it waits ("[poll]"), "[blocked]", or "[runnable]" for a thread that waits for a CPU.
enum class StateFrames : unsigned char {
  kByFormat,  // perf, html, speedscope, firefox: yes; collapsed: no; pprof has labels instead
  kYes,
  kNo,
};

struct Options {
  std::optional<profile::Weight> weight;  // none: what suits the format, mostly samples
  profile::Weight weight_or_samples() const { return weight.value_or(profile::Weight::kSamples); }
  StateFrames state_frames = StateFrames::kByFormat;
  bool source_lines = false;  // perf only: a "  file:line" line behind every frame
  bool inverted = false;      // html only: callers below the functions is what it shows first
  // html, pprof, collapsed: the threads of this process and of those behind it are the base that
  // the others are compared with.
  std::uint32_t first_base_process = profile::kNone;
  bool is_base(const profile::Thread& thread) const { return thread.process >= first_base_process; }
};

// As `perf script` prints it. Samples that weigh nothing are left out.
host::Result<void> write_perf(const profile::Recording& recording, const profile::Names& names,
                              const Options& options, Sink& sink);

// Gzipped profile.proto with all weights; the weight is the default one, and the last one.
host::Result<void> write_pprof(const profile::Recording& recording, const profile::Names& names,
                               const Options& options, Sink& sink);

// "thread;root;…;leaf weight", sorted; compared with a base: "… base-weight weight", as
// difffolded.pl writes it and flamegraph.pl reads it.
host::Result<void> write_collapsed(const profile::Recording& recording, const profile::Names& names,
                                   const Options& options, Sink& sink);

// Speedscope's JSON: a profile per thread in order of time, the busiest one first. Without a
// weight: wall time, for a true time axis.
host::Result<void> write_speedscope(const profile::Recording& recording,
                                    const profile::Names& names, const Options& options,
                                    Sink& sink);

// Gzipped JSON for the Firefox Profiler: threads in order of time, states as categories.
host::Result<void> write_firefox(const profile::Recording& recording, const profile::Names& names,
                                 const Options& options, Sink& sink);

// One page for a browser, which needs no network: flame graph, timeline, functions.
host::Result<void> write_html(const profile::Recording& recording, const profile::Names& names,
                              const Options& options, Sink& sink);

// Another page of the same data: every thread over time, and short tables of where time was spent.
host::Result<void> write_overview(const profile::Recording& recording, const profile::Names& names,
                                  const Options& options, Sink& sink);

// Placeholder of links to other pages; occurs once in both pages.
inline constexpr std::string_view kPageLinks = "<nav id=\"links\" hidden></nav>";

}  // namespace swipr::exporters
