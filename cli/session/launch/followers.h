// Processes of a command that outlive it.
#pragma once

#include <string>
#include <vector>

#include "common/core/ids.h"

namespace swipr::session {

struct Follower {
  Pid pid;
  std::string name;
};

// Running processes that inherited this rendezvous from the command, by pid; also those that
// nothing could be preloaded into. Whoever writes over its own environment (as servers do to show
// their state as their title) is not found.
std::vector<Follower> find_followers(const std::string& rendezvous);

}  // namespace swipr::session
