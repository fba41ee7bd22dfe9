// --split: which calls of a traced function.
#pragma once

#include <string_view>

#include "cli/options/options.h"
#include "common/host/result.h"

namespace swipr::options {

// [FUNCTION:]p95|5ms[:slow|normal|difference]. Errors: no threshold where one has to be.
host::Result<SplitOption> parse_split(std::string_view text);

}  // namespace swipr::options
