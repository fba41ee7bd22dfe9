// Random names.
#pragma once

#include <string>

#include "common/host/result.h"

namespace swipr::host {

// Returns 128 random bits as 32 hexadecimal digits.  Errors: the system
// provides no random bytes.
Result<std::string> make_secret();

}  // namespace swipr::host
