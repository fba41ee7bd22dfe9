// Processes that can be recorded: finding and connecting to one, listing all.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/ids.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::session {

struct Target {
  Pid pid;
  std::string command_name;
  host::UniqueFd connection;
};

// Connects to the agent in process `pid` and makes sure that it is that process that answers. An id
// that no process has here can be that of one in a container, as `swipr list` shows it.
// Blocks: until a program that is just starting listens, at most 3 s from its start.
// Errors: no such process; a thread's id; not started with the preload (says how to); not
// permitted.
host::Result<Target> connect_target(Pid pid);

// Ids of the processes that are called `name` (/proc/PID/comm or the executable's file name).
std::vector<Pid> find_processes(std::string_view name);

struct ListedProcess {
  Pid pid;  // as we see it; if we cannot, as it sees itself
  std::string command;
  std::uint32_t threads = 0;
  std::chrono::nanoseconds age{0};
  std::string socket;
};

struct Listing {
  std::vector<ListedProcess> processes;  // by pid
  std::vector<std::string> removed;      // sockets that a process left behind
  std::vector<std::string> notes;        // sockets that are there but do not answer, and why
};

// Asks /proc, which wakes no process. Only whom that does not tell about is asked himself:
// processes in other namespaces that are closed to us.
Listing list_targets();

}  // namespace swipr::session
