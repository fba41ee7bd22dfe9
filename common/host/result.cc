#include "common/host/result.h"

#include <cstring>

namespace swipr::host {

Error system_error(std::string_view what, int errno_value) {
  return Error(std::string(what) + ": " + std::strerror(errno_value));
}

}  // namespace swipr::host
