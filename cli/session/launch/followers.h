// Processes that a command started and that outlive it.
#pragma once

#include <string>
#include <vector>

#include "common/core/ids.h"

namespace swipr::session {

struct Follower {
  Pid pid;
  std::string name;
};

// Returns the running processes that inherited this rendezvous, sorted by pid, including those
// that could not load the library. Processes that overwrite their environment (servers that set
// their title) are not found.
std::vector<Follower> find_followers(const std::string& rendezvous);

}  // namespace swipr::session
