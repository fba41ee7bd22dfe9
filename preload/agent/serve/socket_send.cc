#include "preload/agent/serve/socket_send.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace swipr::agent {

ssize_t send_pieces(int fd, std::span<const std::string_view> pieces, std::size_t skip) noexcept {
  iovec vectors[3];
  std::size_t count = 0;
  for (std::string_view piece : pieces) {
    const std::size_t skipped = std::min(skip, piece.size());
    skip -= skipped;
    piece.remove_prefix(skipped);
    if (piece.empty()) continue;
    vectors[count++] = {const_cast<char*>(piece.data()), piece.size()};
  }
  msghdr message{};
  message.msg_iov = vectors;
  message.msg_iovlen = count;
  return ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool would_block() noexcept { return errno == EAGAIN || errno == EINTR; }

}  // namespace swipr::agent
