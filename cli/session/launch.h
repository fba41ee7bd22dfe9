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
// it.
class Rendezvous {
 public:
  // Errors: no directory can be made in $XDG_RUNTIME_DIR or /tmp.
  static host::Result<Rendezvous> create();
  Rendezvous(Rendezvous&&) = default;
  Rendezvous& operator=(Rendezvous&&) = delete;
  ~Rendezvous();

  const std::string& path() const { return path_; }
  int fd() const { return listener_.value(); }
  // Never waits; an empty fd when nobody is there.
  host::UniqueFd try_accept();
  // Images that come later find nobody, and run on unrecorded.
  void stop_listening() { listener_.close(); }

 private:
  Rendezvous(std::string directory, std::string path, host::UniqueFd listener);
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

// Starts it with our stdin, stdout, stderr.
// Errors: fork or exec failed; the message lacks the program's name.
host::Result<Pid> launch(const LaunchPlan& plan);

}  // namespace swipr::session
