// Settings of `swipr agent` that are not on its command line, as options for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/host/result.h"

namespace swipr::options {

using Arguments = std::vector<std::string>;

// "--NAME=VALUE" of each line "NAME = VALUE", which may be quoted; "true" is a flag, "false" none.
// Empty lines and lines that begin with "#" say nothing. A name may occur several times.
// Errors: another line.
host::Result<Arguments> parse_settings(std::string_view text);

// "--NAME-OF-IT=VALUE" of each SWIPR_AGENT_NAME_OF_IT=VALUE that is not empty.
Arguments settings_of(const char* const* environment);

// Those of `lower` whose name does not occur in `higher`, then `higher`.
Arguments overridden_by(const Arguments& lower, const Arguments& higher);

// The arguments of the command with those of the environment and of the file of --config.
// Errors: the file cannot be read.
host::Result<Arguments> with_settings(const Arguments& arguments, const char* const* environment);

}  // namespace swipr::options
