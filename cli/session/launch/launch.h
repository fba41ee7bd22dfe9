// Starting the program behind `-- CMD` so that every image below it reports to us.
#pragma once

#include <signal.h>

#include <string>
#include <vector>

#include "common/core/ids.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::session {

// A private directory with a listening socket, to which preloaded images connect. Both vanish with
// it. Root's can be reached by every user who has been told its path.
class Rendezvous {
 public:
  // Errors: no directory can be made in $XDG_RUNTIME_DIR or /tmp.
  static host::Result<Rendezvous> create();
  Rendezvous(Rendezvous&&) = default;
  Rendezvous& operator=(Rendezvous&&) = delete;
  ~Rendezvous();

  const std::string& path() const { return path_; }
  int fd() const { return listener_.value(); }
  // Never waits; an empty fd if there is no connection.
  host::UniqueFd try_accept();
  // Later images find no socket and run unrecorded.
  void stop_listening() { listener_.close(); }

 private:
  Rendezvous(std::string directory, std::string path, host::UniqueFd listener);
  host::Result<void> open_to_other_users();
  std::string directory_;
  std::string path_;
  host::UniqueFd listener_;
};

struct LaunchPlan {
  std::string program;                 // path of the executable
  std::vector<std::string> arguments;  // the first is the program's name for itself
  std::string rendezvous;              // path of the socket
  std::vector<std::string> preloads;   // first to be loaded first; what LD_PRELOAD holds follows
  sigset_t signal_mask{};
};

// The program in two steps: its process exists (so that files can be named after its id), and then
// it runs. It has our stdin, stdout and stderr.
class Launch {
 public:
  // Errors: no process can be made.
  static host::Result<Launch> prepare(const LaunchPlan& plan);
  Launch(Launch&& other) noexcept;
  Launch& operator=(Launch&&) = delete;
  // Without run() the process ends without having done anything.
  ~Launch();

  Pid pid() const { return pid_; }
  // From here on the process is the caller's to wait for.
  // Errors: the program cannot be executed; the message lacks its name, the process is gone.
  host::Result<void> run();

 private:
  Launch(Pid pid, host::UniqueFd go, host::UniqueFd report);
  Pid pid_;                // 0: not ours any more
  host::UniqueFd go_;      // a byte: run; closed: end
  host::UniqueFd report_;  // errno of a failed exec; closed by a successful one
};

}  // namespace swipr::session
