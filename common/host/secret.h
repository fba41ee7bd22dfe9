// Names that nobody guesses.
#pragma once

#include <string>

#include "common/host/result.h"

namespace swipr::host {

// 128 random bits as 32 hexadecimal digits. Errors: the kernel has none to give.
Result<std::string> make_secret();

}  // namespace swipr::host
