// What the options about parts of a recording do, and what they say when nothing is left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "common/host/result.h"

namespace swipr::commands {

// Whether CPU time is credited to running stacks (profile::credit_cpu).
enum class Credit : std::uint8_t { kNo, kYes };

// Reads the inputs into one recording and keeps the samples that are wanted; inputs of `base` come
// last. Errors: those of the inputs; no sample is left (which is no error of `base`).
struct Inputs {
  profile::Recording recording;
  std::uint32_t first_base_process = profile::kNone;
};
host::Result<Inputs> load_inputs(const std::vector<std::string>& paths, const std::string& base,
                                 const options::FilterOptions& filters, Credit credit);

// --split, --only, --hide, --focus. Returns the first process of the base that --split has made of
// other calls; kNone: none. Errors: a bad expression; no sample is left.
host::Result<std::uint32_t> filter_stacks(profile::Recording& recording, profile::Names& names,
                                          const options::FilterOptions& filters);

// --invert. `with_states`: what threads wait in becomes a frame of its own beforehand.
void invert_stacks(profile::Recording& recording, profile::Names& names, bool with_states);

}  // namespace swipr::commands
