// Swift's names, which only Swift's own demangler knows.
#pragma once

#include <vector>

#include "cli/profile/names.h"
#include "symbolize/text/text_pool.h"

namespace swipr::commands {

// All at once: it takes another program, where that is installed.
void name_swift_functions(std::vector<profile::FrameNames>& names, symbolize::TextPool& texts);

}  // namespace swipr::commands
