// One small recording, made by hand, with everything in it that exporters must cope with: inlined
// and nameless frames, names that readers would misread, a cut stack, samples without a stack, a
// run of blocked ticks, every thread state.
#pragma once

#include <cstdint>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::golden {

struct Golden {
  profile::Recording recording;
  profile::Names names;
};

Golden make_golden();
// The same with two more stacks, 4 and 5, which have frames of Python.
Golden make_mixed_golden();

// The first of these, behind which one is appended that it is compared with: there the main thread
// waited for half the time, and one running sample is missing.
inline constexpr std::uint32_t kFirstBaseProcess = 1;
Golden make_comparison();

}  // namespace swipr::golden
