// The profile of all processes in one slice, with the CPU time that no stack explains.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/agent/slice_job.h"
#include "cli/fleet/identity.h"
#include "cli/options/options.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::commands {

struct SliceProfile {
  profile::Recording recording;
  profile::Names names;
  std::vector<fleet::Identity> identities;       // of the job's targets
  std::vector<std::uint32_t> target_of_process;  // shape: parallel to recording.processes
  std::vector<std::string> notes;                // about missing names
};

SliceProfile make_slice_profile(const SliceJob& job, const options::AgentOptions& options);

// A part of `profile` with these targets only.
struct ProfilePart {
  profile::Recording recording;
  profile::Names names;
};
ProfilePart part_of(const SliceProfile& profile, const fleet::Span& span,
                    const std::vector<bool>& is_wanted);

}  // namespace swipr::commands
