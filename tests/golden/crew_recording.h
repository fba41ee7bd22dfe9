// A third recording made by hand, of three seconds: processes of one program, recursion, names of
// templates, addresses of instructions, and samples that are told later than they ended.
#pragma once

#include <string>

#include "tests/golden/golden_recording.h"

namespace swipr::golden {

// Functions are in lines 12, 14 and 20 of `file`, which nobody changed since.
Golden make_crew(const std::string& file);

}  // namespace swipr::golden
