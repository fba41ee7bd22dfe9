// Sending to a socket that may be full or gone.
// Context: control thread.  Blocks: never.  Errno: as sendmsg(2).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace swipr::agent {

// Sends what follows the first `skip` bytes of up to three pieces. Returns the bytes sent, or -1.
ssize_t send_pieces(int fd, std::span<const std::string_view> pieces, std::size_t skip) noexcept;

// Whether the call that failed just now is worth another try.
bool would_block() noexcept;

}  // namespace swipr::agent
