// Listening UNIX sockets, read from /proc. A connection would wake the listening process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/session/find/places.h"
#include "common/core/ids.h"
#include "common/host/proc.h"

namespace swipr::session {

// Paths of the UNIX sockets that accept connections, from the text of /proc/PID/net/unix.
std::set<std::string, std::less<>> parse_listening_paths(std::string_view text);

struct Listened {
  Pid pid;
  host::ProcessStatus status;
};

// A snapshot of some processes. The sockets of a network namespace are read on first use.
class ListeningSockets {
 public:
  explicit ListeningSockets(const std::vector<Pid>& pids);
  // Returns the process whose agent listens on this socket. The name of the socket contains
  // the process id; a socket set by a URL belongs to process `owner`. Returns nullopt if there
  // is none or if it is unknown: the process may use another path for the socket, or its
  // namespace may not be accessible.
  // Source: the agent binds its socket as .swipr-<pid>-<inode of the PID namespace> and then
  // renames it (preload/agent/serve/listener.cc); the kernel keeps the first name.
  std::optional<Listened> find_listener(const Place& place, std::optional<Pid> owner);

 private:
  bool listens_at(Pid pid, const std::string& path);

  std::vector<Listened> processes_;
  std::map<std::uint64_t, std::set<std::string, std::less<>>> paths_;  // by network namespace
};

}  // namespace swipr::session
