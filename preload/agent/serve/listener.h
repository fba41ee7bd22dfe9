// Listening sockets: bound so that a client never finds one that is not ready, and only where other
// users cannot interfere. Context: control thread. Blocks: never longer than a local connect.
#pragma once

#include <sys/types.h>

#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/guest/settings.h"
#include "preload/agent/serve/socket_place.h"

namespace swipr::agent {

struct Listener {
  int fd = -1;
  bool is_tcp = false;
  PathText path;      // UNIX socket: the file
  FixedText<96> url;  // TCP: http://host:port, with the port that was bound
};

// <directory>/<pid>.sock; when a live process of another PID namespace has that name,
// <pid>-<namespace inode>.sock. False: not possible; the log contains the reason.
bool open_default_listener(const Settings& settings, pid_t pid, Listener& out) noexcept;
// SWIPR_SERVER_URL with its patterns expanded.
bool open_url_listener(const Settings& settings, pid_t pid, Listener& out) noexcept;

// 0: /proc does not say.
std::uint64_t pid_namespace_inode() noexcept;

// Connects to the socket of a waiting `swipr record`; -1 with errno.
int connect_unix(std::string_view path) noexcept;

// The process at the other end of a UNIX socket; trusted as is_trusted_peer says.
struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  bool is_trusted = false;
};
Peer find_peer(int fd) noexcept;

// Whether the process at the other end of a UNIX socket runs as the caller's uid (as it is now) or
// as root.
bool is_trusted_peer(int fd) noexcept;

}  // namespace swipr::agent
