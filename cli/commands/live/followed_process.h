// A process that is recorded as long as it runs, without a file: for `top` and `view --live`.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/names/live_names.h"
#include "cli/import/swipr_reader.h"
#include "cli/options/options.h"
#include "cli/profile/recording/recording.h"
#include "cli/session/find/targets.h"
#include "cli/session/stream/live_stream.h"
#include "common/host/result.h"

namespace swipr::commands {

class FollowedProcess {
 public:
  // Begins to record. `probes`: functions to trace, as StreamRequest has them.
  FollowedProcess(session::Target target, std::chrono::nanoseconds interval,
                  options::SymbolOptions symbols, std::string probes = {});

  int fd() const { return stream_->fd(); }
  Pid pid() const { return pid_; }
  const std::string& command() const { return command_; }

  // Reads what has arrived, and moves its samples out. Returns false at the end of the process.
  // Errors: it refuses to be recorded; the stream is not one that this version reads.
  host::Result<bool> read(std::vector<profile::Sample>& samples);

  // What the samples refer to.  Lifetime: until the next read() or restart().
  profile::Recording& recording() { return reader_->so_far(); }
  LiveNames& names() { return *names_; }
  // Samples that the process says it could not send, of all streams.
  std::uint64_t dropped() const;

  // Stacks and their names are kept for as long as a stream lasts.
  bool is_full() const;
  // Begins a new stream: what referred to the recording is void.
  host::Result<void> restart();
  void restart(session::Target target);
  // From the next restart() on.
  void set_probes(std::string probes) { probes_ = std::move(probes); }

 private:
  void begin(host::UniqueFd connection);

  Pid pid_;
  std::string command_;
  std::chrono::nanoseconds interval_;
  options::SymbolOptions symbols_;
  std::string probes_;
  std::unique_ptr<importers::SwiprReader> reader_;
  std::unique_ptr<session::LiveStream> stream_;
  std::unique_ptr<LiveNames> names_;
  std::uint64_t dropped_before_ = 0;
  std::size_t counted_stacks_ = 0;
  std::size_t stack_frames_ = 0;  // of the stacks that have been counted
};

}  // namespace swipr::commands
