// Functions of a followed process that are traced: how long each call takes, by second.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cli/commands/latency/trace_notes.h"
#include "cli/commands/latency/traced_process.h"
#include "cli/live/call_history.h"
#include "cli/options/options.h"
#include "common/host/result.h"

namespace swipr::commands {

class FollowedCalls {
 public:
  // Attaches to the functions.  Blocks: while symbols are read.
  // Errors: no such process or function; not permitted.
  static host::Result<std::unique_ptr<FollowedCalls>> begin(const options::TraceOptions& options);
  FollowedCalls(const FollowedCalls&) = delete;
  FollowedCalls& operator=(const FollowedCalls&) = delete;

  int fd() const { return process_->fd(); }
  // Reads what has arrived. Calls come once a second; `now` is the time of the history of samples.
  // Returns false at the end.
  host::Result<bool> read(std::chrono::nanoseconds now);

  const live::CallHistory& history() const { return history_; }
  // What a stream is asked for whose samples are to be joined with the calls: functions have the
  // numbers of the history.
  std::string probes() const;

 private:
  explicit FollowedCalls(TraceStart start);
  host::Result<void> on_records(TracedProcess& process);

  TraceStart start_;
  TraceNotes notes_;
  live::CallHistory history_;
  std::uint32_t second_ = 0;
  std::unique_ptr<TracedProcess> process_;
};

}  // namespace swipr::commands
