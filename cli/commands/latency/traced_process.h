// A process whose functions are traced: its modules, and the stream of durations.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/commands/latency/function_finder.h"
#include "cli/options/options.h"
#include "cli/session/find/targets.h"
#include "cli/session/stream/block_stream.h"
#include "cli/session/stream/live_stream.h"
#include "cli/trace/latency_records.h"
#include "common/host/result.h"

namespace swipr::commands {

// Records one tick for the modules of the process.
// Blocks: until it answers, at most 10 s.
host::Result<profile::Recording> read_modules(session::Target target);

class TracedProcess {
 public:
  // `on_records` is called when the records of a block have been added; its error ends read().
  using OnRecords = std::function<host::Result<void>()>;
  TracedProcess(session::Target target, std::span<const TracedFunction> functions,
                const options::LatencyOptions& options, OnRecords on_records);
  TracedProcess(const TracedProcess&) = delete;
  TracedProcess& operator=(const TracedProcess&) = delete;

  int fd() const { return stream_->fd(); }
  // Reads what has arrived.  Returns false at the end.
  // Errors: the process refuses, with its reason; it is too old; the stream is damaged.
  host::Result<bool> read();
  void request_end() { stream_->request_end(); }
  tracing::LatencyRecords& records() { return records_; }

 private:
  tracing::LatencyRecords records_;
  OnRecords on_records_;
  session::BlockStream blocks_;
  host::Result<void> fed_;
  std::unique_ptr<session::LiveStream> stream_;
};

}  // namespace swipr::commands
