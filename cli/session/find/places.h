// The places in which the socket of a process can be.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/ids.h"
#include "common/host/proc.h"

namespace swipr::session {

struct Place {
  std::string directory;
  std::string name;
  std::string path() const { return directory + "/" + name; }
  friend bool operator==(const Place&, const Place&) = default;
};

// "<pid>.sock" or "<pid>-<inode of the PID namespace>.sock".
struct SocketName {
  std::int32_t pid = 0;
  std::optional<std::uint64_t> pid_namespace;
};
std::optional<SocketName> parse_socket_name(std::string_view name);

// Returns the socket directories that a process with this effective uid and NUL-separated
// environment may use, most likely first. One of SWIPR_SOCKET_DIR that others can write to has a
// folder for each user.
std::vector<std::string> socket_directories(uid_t uid, std::string_view environment);

// Returns the UNIX socket of a SWIPR_SERVER_URL (unix:///PATH or http+unix://%2FPATH, with {PID}
// replaced), or nullopt if the URL has another scheme.
std::optional<Place> parse_server_url(std::string_view url, Pid pid);

// Returns all places in which the socket of a process can be, most likely first. Paths go
// through /proc/PID/root if the process has another file tree.
std::vector<Place> find_places(Pid pid, const host::ProcessStatus& status);

// SWIPR_SOCKET_DIR and XDG_RUNTIME_DIR of this process, as /proc/PID/environ has them.
std::string own_environment();

// Returns all directories that may contain sockets: those of this user (root: of all users), and
// those that running processes set or have inside their containers.
std::vector<std::string> find_socket_directories();

// Returns the names in a directory; empty if it cannot be read.
std::vector<std::string> entries_of(const std::string& directory);

}  // namespace swipr::session
