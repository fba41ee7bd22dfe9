#include "common/host/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "common/host/unique_fd.h"

namespace swipr::host {

void tell_service_manager(std::string_view state) {
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  const std::string_view place = variable == nullptr ? "" : variable;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool is_place = place.starts_with('/') || place.starts_with('@');
  if (!is_place || place.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, place.data(), place.size());
  if (place.starts_with('@')) address.sun_path[0] = '\0';
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + place.size());
  const auto* const target = reinterpret_cast<const sockaddr*>(&address);
  static_cast<void>(
      ::sendto(socket.value(), state.data(), state.size(), MSG_NOSIGNAL, target, size));
}

}  // namespace swipr::host
