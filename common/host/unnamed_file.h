// Files without a name, for content that is not meant for a disk.
#pragma once

#include "common/host/unique_fd.h"

namespace swipr::host {

// In memory; before Linux 3.17 in the folder for temporary files. `name`: for /proc.
// Errors: empty, errno is set.
UniqueFd make_unnamed_file(const char* name);

}  // namespace swipr::host
