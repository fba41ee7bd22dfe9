#include "common/host/secret.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "common/host/hex.h"

namespace swipr::host {

Result<std::string> make_secret() {
  std::array<std::byte, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return system_error("no random bytes", errno);
  }
  return to_hex(bytes);
}

}  // namespace swipr::host
