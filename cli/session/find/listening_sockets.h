// Who listens where, as /proc tells it: without a connection, which would wake the listener.
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

// A snapshot of all processes and, as far as asked about, of their network namespaces' sockets.
class ListeningSockets {
 public:
  ListeningSockets();
  // The process whose agent listens at this place, which is named after its id or, as given by a
  // URL, is that of process `owner`. nullopt: none, or it cannot be told, because the place is
  // known to us by another path or a namespace is closed to us. Source: the agent binds its socket
  // as .swipr-<pid>-<inode of the PID namespace> and then renames it
  // (preload/agent/serve/listener.cc); the kernel keeps the first name.
  std::optional<Listened> find_listener(const Place& place, std::optional<Pid> owner);

 private:
  bool listens_at(Pid pid, const std::string& path);

  std::vector<Listened> processes_;
  std::map<std::uint64_t, std::set<std::string, std::less<>>> paths_;  // by network namespace
};

}  // namespace swipr::session
