// What `swipr latency --json` prints: one object in one line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/trace/latency_text.h"
#include "common/core/ids.h"

namespace swipr::commands {

struct LatencyReport {
  Pid pid;
  std::string command;
  bool is_final = false;  // all calls, not those of one interval
  std::span<const tracing::FunctionLatency> functions;
  std::span<const std::string> notes;
};

// Times are in nanoseconds; unknown ones are null.
std::string format_latency_json(const LatencyReport& report);

}  // namespace swipr::commands
