// A process whose functions are traced: its modules, and the stream about their calls.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/commands/latency/function_finder.h"
#include "cli/options/options.h"
#include "cli/session/find/targets.h"
#include "cli/session/launch/signal_watch.h"
#include "cli/session/stream/block_stream.h"
#include "cli/session/stream/live_stream.h"
#include "cli/trace/latency_records.h"
#include "common/host/result.h"

namespace swipr::commands {

// What a command is to trace.
struct TraceStart {
  Pid pid;
  std::string command;
  profile::Recording process;  // its modules
  FoundFunctions found;
};
// Blocks: until the process answers, at most 10 s; while symbols are read.
// Errors: no such process, function or place; with the reason, and what could be meant.
host::Result<TraceStart> find_what_to_trace(const options::TraceOptions& options);

// What the process is asked for, as StreamRequest has it: a line for each function.
std::string list_probes(const FoundFunctions& found);
// Adds functions and call sites.
void add_traced_functions(session::StreamRequest& request, const FoundFunctions& found);

class TracedProcess {
 public:
  // `request` lacks the functions. `on_records` is called when the records of a block have been
  // added; its error ends run().
  using OnRecords = std::function<host::Result<void>(TracedProcess&)>;
  TracedProcess(session::Target target, const TraceStart& start,
                const options::TraceOptions& options, session::StreamRequest request,
                OnRecords on_records);
  TracedProcess(const TracedProcess&) = delete;
  TracedProcess& operator=(const TracedProcess&) = delete;

  int fd() const { return stream_->fd(); }
  // Reads what has arrived.  Returns false at the end.  Errors: as run().
  host::Result<bool> read();
  // Reads until the end; a signal asks for it, a second one does not wait for it.
  // Errors: the process refuses, with its reason; it is too old; it does not end; the stream is
  // damaged.
  host::Result<void> run(session::SignalWatch& signals);
  // Asks for the end.  Returns false if that has been asked for already.
  bool end();
  tracing::LatencyRecords& records() { return records_; }
  const tracing::LatencyRecords& records() const { return records_; }

 private:
  bool has_asked_for_end() const {
    return deadline_ != std::chrono::steady_clock::time_point::max();
  }

  tracing::LatencyRecords records_;
  OnRecords on_records_;
  session::BlockStream blocks_;
  host::Result<void> fed_;
  std::unique_ptr<session::LiveStream> stream_;
  // For the next record, and for the end; max(): the end has not been asked for.
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  std::chrono::steady_clock::time_point last_deadline_ = deadline_;
};

// What is wrong with a stream that has ended: nothing was traced, or `ran`.
host::Result<void> find_trace_failure(const tracing::LatencyRecords& records,
                                      const host::Result<void>& ran);

}  // namespace swipr::commands
