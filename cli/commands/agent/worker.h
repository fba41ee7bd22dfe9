// A process that does one piece of work with files of unknown origin: a crash, an endless loop or
// too much memory ends it and not the agent.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::commands {

struct WorkerResult {
  std::vector<std::string> lines;  // that the work returned
  std::string failure;             // how it ended early; empty: it is done
  std::chrono::nanoseconds cpu{0};
  std::uint64_t peak_bytes = 0;
};

class Worker {
 public:
  // The work sees all memory as it is now. It returns lines for the log.
  // Thread: the caller has no other threads.  Errors: no process can be started.
  static host::Result<Worker> start(const std::function<std::vector<std::string>()>& work);
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&&) = delete;
  ~Worker();  // ends it at once

  std::chrono::nanoseconds age() const { return std::chrono::steady_clock::now() - started_; }
  // Nullopt: it goes on.
  std::optional<WorkerResult> try_finish();
  void kill() const;

 private:
  Worker(pid_t pid, host::UniqueFd report) : pid_(pid), report_(std::move(report)) {}

  pid_t pid_ = -1;
  host::UniqueFd report_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace swipr::commands
