// Runs in a worker process: files and requests of one slice.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/agent/slice_job.h"
#include "cli/options/options.h"

namespace swipr::commands {

// Returns lines for the log: what was written, and what could not be.
// "error …" and "dropped N …" are counted by the agent.
std::vector<std::string> export_slice(const SliceJob& job, const options::AgentOptions& options,
                                      const std::vector<SliceStore>& stores);

}  // namespace swipr::commands
