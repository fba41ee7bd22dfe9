#include "common/host/secret.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "common/host/text/hex.h"
#include "common/host/unique_fd.h"

namespace swipr::host {

Result<std::string> make_secret() {
  std::array<std::byte, 16> bytes{};
  constexpr auto kBytes = static_cast<ssize_t>(bytes.size());
  if (::getrandom(bytes.data(), bytes.size(), 0) == kBytes) return to_hex(bytes);
  // Before Linux 3.17.
  const UniqueFd device(::open("/dev/urandom", O_RDONLY | O_CLOEXEC));
  if (!device || ::read(device.value(), bytes.data(), bytes.size()) != kBytes) {
    return system_error("no random bytes", errno);
  }
  return to_hex(bytes);
}

}  // namespace swipr::host
