// Interface of the capture side of the agent: starts recordings, runs their ticks, ends them.
// Several recordings run at once, each with its own interval, stack ids and output. Context:
// control thread only.
#pragma once

#include <cstdint>
#include <span>

#include "common/wire/format.h"
#include "preload/agent/base/moment.h"
#include "preload/agent/base/output_queue.h"
#include "preload/agent/base/unwinder_choice.h"
#include "preload/agent/modules/runtime_registry.h"
#include "preload/agent/record/recording_request.h"

namespace swipr::agent {

class Recording;

struct RecorderCounters {
  std::uint64_t recordings_started = 0;
  std::uint64_t recordings_active = 0;
  std::uint64_t ticks = 0;
  std::uint64_t samples = 0;
  std::uint64_t signals_sent = 0;
  std::uint64_t signals_stray = 0;  // arrived too late and were ignored
  UnwinderChoice unwinder = UnwinderChoice::kSwipr;
  std::string_view unwinder_failure;  // why libunwind is not used; empty: no failure
};

class Recorder {
 public:
  // Opens /proc/self/mem and the main thread's `syscall` file permanently: after setuid or
  // PR_SET_DUMPABLE 0 they cannot be opened, but stay usable if open. Call at the start of the
  // process.
  void open_before_privileges_go() noexcept;

  // Writes the file header, the source record and the state of modules and threads into `output`,
  // installs the signal handler if it is the first recording. `output` must outlive the recording.
  // nullptr: refused; *error (static text) states the reason.
  Recording* start(const RecordingRequest& request, OutputQueue& output,
                   const char** error) noexcept;
  // Collects outstanding answers, writes totals and the end record (as far as `output` has room),
  // and deletes the recording. Also for recordings that ended by themselves. The last one to end
  // removes the signal handler and frees memory.
  void finish(Recording* recording, wire::EndReason reason, const char* text) noexcept;
  // True if count or duration was reached: the server then drains `output` and calls finish.
  bool is_complete(const Recording* recording) const noexcept;

  // Functions are traced for this recording.
  bool traces_functions(const Recording* recording) const noexcept;

  // Folder of the files of unwind tables, from the environment: see TableFiles::set_place.
  void set_table_place(std::string_view cache_home, std::string_view home) noexcept;

  // The sampling signal; SIGURG unless set. Before the first start.
  void set_signal_number(int signal_number) noexcept;

  // Disables the use of /proc/self/task/T/syscall, for kernels without it and for tests. Before the
  // first start.
  void forgo_signal_free_looks() noexcept;
  // The language runtimes of the process, as its recordings know them; while there is none, of
  // `survey`, a new registry. Empty if their frames are not to be read.
  std::span<const FoundRuntime> find_runtimes(RuntimeRegistry& survey) noexcept;
  // Frames of language runtimes are not read: SWIPR_RUNTIMES. Before the first start.
  void forgo_runtimes() noexcept;

  // The unwinder: SWIPR_UNWINDER. Before the first start.
  void choose_unwinder(UnwinderChoice choice) noexcept;

  // The process that it belongs to; 0: none. Before the first start.
  void set_owner(int pid) noexcept;

  // When run_due has to be called next; kNever without recordings.
  Moment next_deadline() const noexcept;
  void run_due(Moment now) noexcept;

  // Writes everything recorded so far, including totals, to the outputs.
  void flush(Moment now) noexcept;

  RecorderCounters counters() const noexcept;

  // In the child of a fork: resets all state without writing anything and restores the program's
  // own disposition of the signal. Context: the forking thread, before other threads exist.
  void reset_after_fork() noexcept;
};

// The only instance. Constant-initialised; costs nothing until start().
Recorder& recorder() noexcept;

}  // namespace swipr::agent
