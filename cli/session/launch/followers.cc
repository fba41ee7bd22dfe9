#include "cli/session/launch/followers.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "common/host/proc.h"

namespace swipr::session {

namespace {

using namespace std::chrono_literals;

// During exec a process has no environment: for microseconds, or until it gets a CPU.
constexpr auto kBetweenLooks = 5ms;
constexpr int kMaxLooks = 20;

bool has_image(Pid pid) {
  char target[1];
  return ::readlink(host::proc_path(pid, "exe").c_str(), target, sizeof target) > 0;
}

// `unclear`: those that may be in an exec.
std::vector<Follower> look_at(const std::vector<Pid>& pids, const std::string& rendezvous,
                              std::vector<Pid>& unclear) {
  std::vector<Follower> found;
  unclear.clear();
  for (Pid pid : pids) {
    const auto environment = host::read_file(host::proc_path(pid, "environ"));
    if (!environment) continue;
    const auto status = host::read_process_status(pid);
    if (!status || status->state == 'Z' || status->state == 'X') continue;
    if (environment->empty()) {
      if (has_image(pid)) unclear.push_back(pid);
    } else if (host::find_variable(*environment, "SWIPR_RENDEZVOUS") == rendezvous) {
      found.push_back({pid, status->name});
    }
  }
  return found;
}

}  // namespace

std::vector<Follower> find_followers(const std::string& rendezvous) {
  std::vector<Pid> unclear;
  std::vector<Follower> found = look_at(host::list_processes(), rendezvous, unclear);
  for (int look = 1; look < kMaxLooks && !unclear.empty(); ++look) {
    std::this_thread::sleep_for(kBetweenLooks);
    const std::vector<Pid> again = std::move(unclear);
    std::vector<Follower> more = look_at(again, rendezvous, unclear);
    found.insert(found.end(), more.begin(), more.end());
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return found;
}

}  // namespace swipr::session
