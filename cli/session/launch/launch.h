// Starts the program of `record -- CMD`, so that each image below it connects to this process.
#pragma once

#include <signal.h>

#include <string>
#include <vector>

#include "common/core/ids.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::session {

// A private directory with a listening socket, to which preloaded images connect. The destructor
// removes both. Root's socket can be used by every user who knows its path.
class Rendezvous {
 public:
  // Errors: no directory can be created in $XDG_RUNTIME_DIR or /tmp.
  static host::Result<Rendezvous> create();
  Rendezvous(Rendezvous&&) = default;
  Rendezvous& operator=(Rendezvous&&) = delete;
  ~Rendezvous();

  const std::string& path() const { return path_; }
  int fd() const { return listener_.value(); }
  // Blocks: never; returns an empty fd if there is no connection.
  host::UniqueFd try_accept();
  // Removes the socket; later images run unrecorded.
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
  std::vector<std::string> preloads;   // in load order; the caller's LD_PRELOAD follows
  sigset_t signal_mask{};
};

// Starts the program in two steps: first its process exists, so that files can be named after
// its id, then it runs. It inherits stdin, stdout and stderr.
class Launch {
 public:
  // Errors: no process can be created.
  static host::Result<Launch> prepare(const LaunchPlan& plan);
  Launch(Launch&& other) noexcept;
  Launch& operator=(Launch&&) = delete;
  // Without run() the process ends without running the program.
  ~Launch();

  Pid pid() const { return pid_; }
  // After this the caller must wait for the process.
  // Errors: the program cannot be executed; the message lacks its name, and the process has ended.
  host::Result<void> run();

 private:
  Launch(Pid pid, host::UniqueFd go, host::UniqueFd report);
  Pid pid_;                // 0: released to the caller
  host::UniqueFd go_;      // a byte: run; closed: end
  host::UniqueFd report_;  // errno of a failed exec; closed by a successful one
};

}  // namespace swipr::session
