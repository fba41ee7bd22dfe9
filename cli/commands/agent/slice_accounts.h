// What became of the CPU time of all processes in one slice, as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/agent/slice_job.h"
#include "cli/fleet/identity.h"

namespace swipr::commands {

// {"begin","duration_ns","cpu_ns","recorded_ns","unrecorded_ns","processes":[…]}
// `identities`: of the targets of the job.
std::string format_slice_accounts(const SliceJob& job,
                                  const std::vector<fleet::Identity>& identities);

}  // namespace swipr::commands
