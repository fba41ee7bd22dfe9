// Sends to a socket that may be full or closed.
// Context: control thread.  Blocks: never.  Errno: as sendmsg(2).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace swipr::agent {

// Sends up to three pieces without their first `skip` bytes. Returns the bytes sent, or -1.
ssize_t send_pieces(int fd, std::span<const std::string_view> pieces, std::size_t skip) noexcept;

// Whether the call that has just failed should be repeated.
bool would_block() noexcept;

}  // namespace swipr::agent
