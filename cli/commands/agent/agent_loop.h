// The loop of `swipr agent`: slices of time, from their beginning to files and requests.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "cli/commands/agent/agent_counters.h"
#include "cli/commands/agent/agent_log.h"
#include "cli/commands/agent/collector.h"
#include "cli/commands/agent/store_pushers.h"
#include "cli/commands/agent/worker.h"
#include "cli/options/options.h"
#include "cli/session/launch/signal_watch.h"
#include "common/host/result.h"

namespace swipr::commands {

class AgentLoop {
 public:
  AgentLoop(const options::AgentOptions& options, AgentLog& log, session::SignalWatch& signals);

  // Errors: a store or its spool is not usable.
  host::Result<void> start() { return pushers_.start(options_); }

  enum class End { kDone, kFailed, kRestart };
  // Until the last slice, a signal or the end of the controlling process. The slice that has begun
  // is finished and exported.  kFailed: no slice was exported. kRestart: SIGHUP.
  End run();

 private:
  using Clock = std::chrono::steady_clock;

  bool wait_until(Clock::time_point time);
  void on_signals();
  void begin_slice(std::chrono::nanoseconds begin);  // by the monotonic clock
  std::chrono::nanoseconds slice_length() const;
  void end_slice(bool is_last);
  void take_worker();
  void report(const WorkerResult& result);
  void finish();
  void write_metrics();
  bool has_controller() const;
  std::vector<pollfd> descriptors(bool streams) const;

  const options::AgentOptions& options_;
  AgentLog& log_;
  session::SignalWatch& signals_;
  AgentCounters counters_;
  Collector collector_;
  StorePushers pushers_;
  std::optional<Worker> worker_;
  Clock::time_point slice_end_{};
  Clock::time_point next_read_{};
  fleet::Span span_;
  std::uint64_t exported_ = 0;
  bool is_stopping_ = false;
  bool is_restarting_ = false;
};

}  // namespace swipr::commands
