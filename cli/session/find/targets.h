// Processes that can be recorded: find one and connect to it, or list all.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/session/find/agent_info.h"
#include "cli/session/find/places.h"
#include "common/core/ids.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::session {

struct Target {
  Pid pid;
  std::string command_name;
  host::UniqueFd connection;
};

// Connects to the agent in process `pid` and verifies that this process answers. An id that no
// visible process has may be that of a process in a container, as `swipr list` shows it.
// Blocks: until a program that is starting listens, at most 3 s from its start.
// Errors: no such process; id of a thread; not started with the preload; not permitted.
host::Result<Target> connect_target(Pid pid);

// Connects to the agent that listens at the path `socket`. This is how a process of another
// container is named: several may have the same id. Errors: nobody listens there; the listener
// belongs to another user.
host::Result<Target> connect_socket(const std::string& socket);

// Returns the ids of the processes named `name` (/proc/PID/comm or file name of the executable).
std::vector<Pid> find_processes(std::string_view name);

// Connects to the first process of this name that can be recorded.
// Errors: none has the name; those of the last one that has it.
host::Result<Target> connect_named(std::string_view name);

struct ListedProcess {
  Pid pid;  // in this PID namespace; if it is not visible here, in its own
  std::string command;
  std::uint32_t threads = 0;
  std::chrono::nanoseconds age{0};
  std::string socket;
  // What a process says of itself that /proc does not show, or shows as another one: it is in a PID
  // namespace that is not visible here.
  std::optional<AgentInfo> hidden{};
};

struct Listing {
  std::vector<ListedProcess> processes;  // by pid
  std::vector<std::string> removed;      // stale sockets
  std::vector<std::string> notes;        // sockets that do not answer, with the reason
};

// Reads /proc, which wakes no process. Connects only to processes that /proc does not show,
// because they are in other namespaces.
Listing list_targets();

// The same for sockets at these places only, such as new ones.
Listing list_sockets(const std::vector<Place>& places);

}  // namespace swipr::session
