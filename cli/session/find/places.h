// Where the socket of a process can be.
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

// The socket directories that a process with this effective uid and NUL-separated environment uses,
// most likely first.
std::vector<std::string> socket_directories(uid_t uid, std::string_view environment);

// A UNIX socket named by a SWIPR_SERVER_URL (unix:///PATH, http+unix://%2FPATH, {PID} replaced);
// nullopt: none, or not of this kind.
std::optional<Place> parse_server_url(std::string_view url, Pid pid);

// Everywhere to look for the socket of a process, best guess first, seen through /proc/PID/root
// where that is another file tree than ours.
std::vector<Place> find_places(Pid pid, const host::ProcessStatus& status);

// All directories to look through for sockets of anybody: ours, as root also those of the other
// users, and those that running processes name or have inside their containers.
std::vector<std::string> find_socket_directories();

// The names of what is in a directory; empty when it cannot be read.
std::vector<std::string> entries_of(const std::string& directory);

}  // namespace swipr::session
