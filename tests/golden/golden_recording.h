// One small recording, made by hand, with everything in it that exporters must cope with: inlined
// and nameless frames, names that readers would misread, a cut stack, samples without a stack, a
// run of blocked ticks, every thread state.
#pragma once

#include "cli/profile/names.h"
#include "cli/profile/recording.h"

namespace swipr::golden {

struct Golden {
  profile::Recording recording;
  profile::Names names;
};

Golden make_golden();

}  // namespace swipr::golden
