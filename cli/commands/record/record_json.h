// The JSON summary of `swipr record --json FILE`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/output/outcome.h"
#include "cli/options/options.h"
#include "cli/session/record_session.h"

namespace swipr::commands {

// Filled while `record` runs. If nothing was recorded, the counters are 0 and `output` is empty.
struct RecordReport {
  session::SessionTotals totals;
  std::uint64_t raw_bytes = 0;
  std::string output;                                   // the output file
  std::vector<std::string> errors;                      // one per process whose recording failed
  std::optional<std::chrono::nanoseconds> command_cpu;  // of the command and its children
  std::vector<session::Unrecorded> unrecorded;          // descendants of the command
};

// Returns one JSON object and a newline. docs/man/swipr-record.1 describes the members.
std::string format_record_json(const options::RecordOptions& options, const RecordReport& report,
                               const Outcome& outcome);

}  // namespace swipr::commands
