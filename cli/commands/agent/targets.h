// The processes that an agent knows: those with a socket, from their discovery to their end.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/fleet/cpu_ledger.h"
#include "cli/options/options.h"
#include "cli/session/find/targets.h"
#include "common/core/ids.h"
#include "common/host/unique_fd.h"

namespace swipr::commands {

// What profiles say of a process. Read once.
struct TargetFacts {
  Pid pid;
  std::string command_name, executable;
  std::vector<std::string> command_line;
  std::string cgroup, mountinfo;
  // Of its environment; empty: not set.
  std::string service, version, labels, container_name, pod, pod_namespace, pod_uid;
};

struct AgentTarget {
  std::string socket;
  std::uint64_t start_ticks = 0;   // with the pid: its identity; 0: not visible in /proc
  std::int64_t start_time_ns = 0;  // identity of one that is not visible
  TargetFacts facts;
  fleet::CpuLedger ledger{std::chrono::nanoseconds(0)};
  std::chrono::nanoseconds kernel_cpu{0};            // the last reading of its CPU clock
  std::optional<std::chrono::nanoseconds> alive_at;  // the reading after which it was seen alive
  std::chrono::nanoseconds slice_cpu{0};             // the reading at the beginning of the slice
  std::chrono::nanoseconds recorded{0};              // by all of its streams
  fleet::CpuTimes before_stream;                     // when the open one began
  std::chrono::nanoseconds swipr_before{0};          // swipr's own, of streams that have ended
  std::chrono::nanoseconds slice_swipr{0};           // all of it, at the beginning of the slice
  std::optional<std::uint32_t> stream;               // number of the open one
  unsigned halvings = 0;    // of the rate, to stay below the limit of overhead
  bool is_known = false;    // a stream has been tried
  bool was_opened = false;  // a stream was opened in this slice
  bool was_closed = false;  // one has ended in it
  bool has_ended = false;
  std::string refusal;  // why no stream can be opened; empty: none
};

class Targets {
 public:
  explicit Targets(const options::AgentOptions& options) : options_(options) {}

  // Readable if a socket was created in a known folder; -1: not available.
  int watch_fd() const { return watch_.value(); }
  // Call if watch_fd() is readable.
  void on_change();
  // Looks for new processes if there may be some, and reads the CPU clocks of all. Returns the ids
  // of new ones. Blocks: briefly; up to 2 s for a stopped process in another PID namespace.
  std::vector<std::uint64_t> look(std::chrono::steady_clock::time_point now);
  // The socket is another process's now, or another image's: look() looks at it again.
  void look_again(const std::string& socket);
  // Forgets a process.
  void remove(std::uint64_t id) { targets_.erase(id); }

  std::map<std::uint64_t, AgentTarget>& all() { return targets_; }
  AgentTarget* find(std::uint64_t id);
  // Processes that were not taken because there are too many.
  std::size_t left_out() const { return left_out_; }

 private:
  void search(std::vector<std::uint64_t>& added);
  void add(const session::Listing& listing, std::vector<std::uint64_t>& added);
  void watch_folders();
  bool is_wanted(const session::ListedProcess& process) const;
  std::chrono::nanoseconds accounted_before(Pid pid, std::uint64_t start_ticks,
                                            std::chrono::nanoseconds now) const;
  void read_clocks();

  const options::AgentOptions& options_;
  std::map<std::uint64_t, AgentTarget> targets_;
  std::uint64_t next_id_ = 0;
  host::UniqueFd watch_;
  std::map<int, std::string> watched_;   // folders, by number of their watch
  std::vector<session::Place> created_;  // sockets that have not been looked at
  std::chrono::steady_clock::time_point next_search_{};
  bool has_searched_ = false;
  std::size_t left_out_ = 0;
};

// The CPU time of all threads of a process, from its clock. Nullopt: it has ended, or is in a PID
// namespace that is not visible here.
std::optional<std::chrono::nanoseconds> read_cpu_clock(Pid pid);

}  // namespace swipr::commands
