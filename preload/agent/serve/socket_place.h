// Addresses at which the agent listens, as text: the default directory and SWIPR_SERVER_URL. No
// I/O.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/guest/settings.h"

namespace swipr::agent {

using Uuid = std::array<std::uint8_t, 16>;

enum class SocketDirectory : std::uint8_t { kLast, kMayBeAnother };

// The socket directory to try in this round, from 0 up to the last one. $SWIPR_SOCKET_DIR with
// {UID} replaced, and no other, because a client looks there; else $XDG_RUNTIME_DIR/swipr,
// /run/swipr/<uid>, /tmp/swipr-<uid>. Relative ones are skipped, because the working directory can
// change.
SocketDirectory write_socket_directory(const Settings& settings, uid_t uid, unsigned round,
                                       TextWriter& out) noexcept;

// Replaces {PID} and {UUID}. Sets the overflow of `out` if the text does not fit.
void expand_url_pattern(std::string_view pattern, pid_t pid, const Uuid& uuid,
                        TextWriter& out) noexcept;

struct ServerPlace {
  enum class Kind : std::uint8_t { kUnix, kTcp };
  Kind kind = Kind::kUnix;
  PathText path;           // kUnix
  FixedText<64> host;      // kTcp: numeric IPv4 or IPv6 address, brackets removed
  std::uint16_t port = 0;  // kTcp; 0: the kernel chooses
};

// unix:///path · http+unix://%2Fpath · http://host:port, host numeric or "localhost". nullptr:
// parsed; otherwise a static error message.
const char* parse_server_url(std::string_view url, ServerPlace& out) noexcept;

// Whether a Host header names this machine. Any other name on a loopback port is that of a web page
// whose host resolves to 127.0.0.1 (DNS rebinding).
bool is_loopback_host(std::string_view host_header) noexcept;

// Whether a request with this Origin header comes from a page of the server itself. A page of
// another site can make a browser send requests to a loopback port (CSRF; RFC 6454, 7.3), but
// cannot set the Origin header.
bool is_same_origin(std::string_view origin_header, std::string_view host_header) noexcept;

}  // namespace swipr::agent
