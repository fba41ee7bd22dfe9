// What the streams of a session come to, and what of its command they do not tell.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/session/launch/descendants.h"
#include "cli/session/stream/stream_meter.h"

namespace swipr::session {

// Sums over all streams so far.
struct SessionTotals {
  std::uint64_t processes = 0;  // process images that sent something
  std::uint64_t ticks_asked = 0;
  std::uint64_t ticks = 0;
  std::uint64_t ticks_missed = 0;
  std::uint64_t ticks_stretched = 0;  // some threads were left out to stay in the budget
  std::uint64_t samples = 0;
  std::uint64_t dropped = 0;
  std::uint64_t threads = 0;
  std::uint64_t stacks_walked = 0;
  std::uint64_t stacks_rooted = 0;
  std::uint64_t stacks_missing = 0;  // samples without a stack
  // CPU time that samples stand for, and swipr's own.
  std::chrono::nanoseconds sampled_cpu{0}, agent_cpu{0};
  void add(const StreamSummary& stream);
};

// User and system time.
std::chrono::nanoseconds cpu_of(const rusage& usage);

// What of the command's CPU time is in no sample, as one line; empty: next to nothing.
std::string describe_missing_cpu(std::chrono::nanoseconds command, std::chrono::nanoseconds known);

// A process that answered, but had no thread to look at, although it used the CPU.
std::optional<Unrecorded> find_unseen(const StreamSummary& stream);

}  // namespace swipr::session
