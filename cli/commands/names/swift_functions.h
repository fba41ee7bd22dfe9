// Demangles Swift names with swift-demangle.
#pragma once

#include <vector>

#include "cli/profile/recording/names.h"
#include "symbolize/text/text_pool.h"

namespace swipr::commands {

// Demangles all names in one run of the program, if it is installed.
void name_swift_functions(std::vector<profile::FrameNames>& names, symbolize::TextPool& texts);

}  // namespace swipr::commands
