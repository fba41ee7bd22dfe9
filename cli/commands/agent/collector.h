// The processes and streams of an agent: records who runs, and accounts for all CPU time.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/commands/agent/agent_counters.h"
#include "cli/commands/agent/agent_log.h"
#include "cli/commands/agent/slice_job.h"
#include "cli/commands/agent/stream_pool.h"
#include "cli/commands/agent/targets.h"
#include "cli/options/options.h"

namespace swipr::commands {

class Collector {
 public:
  Collector(const options::AgentOptions& options, AgentLog& log, AgentCounters& counters);

  // Adds those of news about processes, and with `streams` those of recordings.
  void add_descriptors(std::vector<pollfd>& waits, bool streams) const;
  void on_ready(const std::vector<pollfd>& waits);
  // Finds new processes and opens streams of those that run. Call about once per second.
  void look();
  // Takes what was recorded since the last call. `is_last`: nothing follows. Lifetime: until the
  // next call of any method.
  SliceJob cut_slice(const fleet::Span& span, bool is_last);
  // Closes streams of idle processes, forgets those that have ended, adapts rates to the limit of
  // overhead. `ended`: the length of the slice before. Call after cut_slice().
  void begin_slice(std::chrono::nanoseconds ended);
  // Asks all processes for the rest of their data.
  void request_end() { streams_.request_end_of_all(); }
  bool is_recording() const { return !streams_.empty(); }
  // True if --pids names processes and all of them have ended.
  bool has_lost_all() const;

 private:
  void limit_overhead(std::chrono::nanoseconds slice);
  void open_stream(AgentTarget& target);
  void on_stream_end(AgentTarget& target, const std::string& reason);
  std::chrono::nanoseconds swipr_cpu(const AgentTarget& target);
  fleet::CpuReading reading_of(const AgentTarget& target, bool is_last);
  void reopen_all();

  const options::AgentOptions& options_;
  AgentLog& log_;
  AgentCounters& counters_;
  Targets targets_;
  StreamPool streams_;
  std::map<std::uint32_t, std::uint64_t> target_of_stream_;  // in this slice
  bool has_seen_targets_ = false;
};

}  // namespace swipr::commands
