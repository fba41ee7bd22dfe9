#include "cli/session/followers.h"

#include <unistd.h>

#include <algorithm>

#include "common/host/proc.h"

namespace swipr::session {

std::vector<Follower> find_followers(const std::string& rendezvous) {
  std::vector<Follower> found;
  for (Pid pid : host::list_processes()) {
    const auto environment = host::read_file(host::proc_path(pid, "environ"));
    if (!environment || host::find_variable(*environment, "SWIPR_RENDEZVOUS") != rendezvous) {
      continue;
    }
    const auto status = host::read_process_status(pid);
    if (status && status->state != 'Z' && status->state != 'X')
      found.push_back({pid, status->name});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return found;
}

}  // namespace swipr::session
