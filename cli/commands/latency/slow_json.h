// What `swipr slower --json` prints: an object in a line for each call, and one for all.
#pragma once

#include <span>
#include <string>

#include "cli/trace/slow_text.h"
#include "common/core/ids.h"

namespace swipr::commands {

// `end_ns`: since the epoch. Contents of registers are hexadecimal text, as numbers of JSON have 53
// bits; parameters are values of their types.
std::string format_slow_call_json(const tracing::NamedSlowCall& call, std::string_view thread_name,
                                  std::uint64_t end_ns);

struct SlowReport {
  Pid pid;
  std::string command;
  std::span<const tracing::SlowSummary> functions;
  std::span<const std::string> notes;
};
std::string format_slow_summary_json(const SlowReport& report);

}  // namespace swipr::commands
