// Files as a recorded process saw them: below its root, which in a container is not this one's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/core/ids.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::symbolize {

// Opens `path` below `root` for reading, without waiting on a pipe; absolute links stay inside.
// Errors: those of open.
host::Result<host::UniqueFd> open_in_root(const std::string& root, const std::string& path);

// Processes that have this id in a PID namespace of their own, which is the id in their recordings.
// The process `pid` of this namespace is not among them.
std::vector<Pid> find_namesakes(std::int32_t pid);

}  // namespace swipr::symbolize
