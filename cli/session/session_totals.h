// Totals of the streams of a session, and the CPU time of its command that they do not cover.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/session/stream/stream_meter.h"

namespace swipr::session {

struct WarnedProcesses {
  std::string first;  // "app (4711)"
  std::uint64_t count = 0;
};

// Sums over all streams so far.
struct SessionTotals {
  std::uint64_t processes = 0;  // process images that sent data
  std::uint64_t ticks_asked = 0;
  std::uint64_t ticks = 0;
  std::uint64_t ticks_missed = 0;
  std::uint64_t ticks_stretched = 0;  // idle threads were skipped (overhead limit)
  std::uint64_t samples = 0;
  std::uint64_t dropped = 0;
  std::uint64_t threads = 0;
  std::uint64_t stacks_walked = 0;
  std::uint64_t stacks_rooted = 0;
  std::uint64_t stacks_missing = 0;  // samples without a stack
  // CPU time that samples cover, and that of swipr's thread.
  std::chrono::nanoseconds sampled_cpu{0}, agent_cpu{0};
  std::set<std::string> refused_runtimes;           // StreamSummary's
  std::map<std::string, WarnedProcesses> warnings;  // by text
  void add(const StreamSummary& stream);
};

// User and system time.
std::chrono::nanoseconds cpu_of(const rusage& usage);

// Returns one line per warning of the recorded processes, with the first process that sent it.
std::vector<std::string> describe_warnings(const SessionTotals& totals);

// Returns one line on the CPU time of the command that is in no sample; empty if it is negligible.
std::string describe_missing_cpu(std::chrono::nanoseconds command, std::chrono::nanoseconds known);

}  // namespace swipr::session
