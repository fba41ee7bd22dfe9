// --split: samples by the duration of the traced call that they are in.
#pragma once

#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/profile/call_split.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "common/host/result.h"

namespace swipr::commands {

// Errors: the recording has no traced calls, none of the function, or too few for the quantile.
// Lifetime: `recording` outlives the result.
host::Result<profile::CallSplit> find_split(const profile::Recording& recording,
                                            const profile::Names& names,
                                            const options::SplitOption& option);

// Removes the samples that a split does not want. With SplitPart::kDifference samples of slow
// calls stay, and those of the others are appended as a base.
// Returns the first process of the base; kNone: there is none.
// Errors: those of find_split; no sample is left.
host::Result<std::uint32_t> apply_split(profile::Recording& recording, profile::Names& names,
                                        const options::SplitOption& option);

// The name of a traced function; "0x…" without one.
std::string name_of(const profile::Recording& recording, const profile::Names& names,
                    const profile::TracedFunction& function);

}  // namespace swipr::commands
