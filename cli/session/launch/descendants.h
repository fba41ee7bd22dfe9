// Descendants of a started command that are not recorded because the library is not loaded in
// them, with the reason. They are found by periodic scans of /proc, which miss processes that
// live for less than the time between two scans.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/core/ids.h"
#include "common/host/proc.h"

namespace swipr::session {

struct Unrecorded {
  Pid pid;
  std::string name;
  std::string reason;               // "is statically linked: …"
  std::chrono::nanoseconds cpu{0};  // at the last scan
};

// Returns one line per program and reason: "not recorded: app (3 processes, such as 4711, with
// 0.120 s of CPU time): is statically linked: …".
std::vector<std::string> describe(const std::vector<Unrecorded>& unrecorded);

// Returns the reason why a running process has not loaded the library for this rendezvous;
// nullopt: unknown.
std::optional<std::string> find_reason_for_absence(Pid pid, const std::string& rendezvous);

class Descendants {
 public:
  using Clock = std::chrono::steady_clock;

  // `root` is the command, `rendezvous` the path of its socket.
  Descendants(Pid root, std::string rendezvous);

  // Notes that an image of this process has connected.
  void on_connected(Pid pid);
  Clock::time_point next_look() const { return next_look_; }
  // Scans /proc.  Bounds: one readdir, and a few reads per new or descendant process.
  void look(const std::set<Pid>& connected);

  // In the order of discovery, without processes that have connected since.
  std::vector<Unrecorded> unrecorded() const;

 private:
  using Image = std::pair<std::uint64_t, std::uint64_t>;  // device and inode of the executable
  struct Known {
    std::optional<Image> recorded;                  // image of the last connection
    std::optional<Clock::time_point> missed_since;  // first seen without a connection
    std::optional<Image> told;                      // listed in `unrecorded_` as this image …
    std::size_t place = 0;  // … at this index; its reason is empty if it was wrong
  };

  void judge(Pid pid, const host::ProcessStat& stat, Known& known);
  void tell(Pid pid, const host::ProcessStat& stat, Known& known, const Image& image,
            std::string reason);

  std::string rendezvous_;
  std::map<Pid, Known> known_;  // the command's processes
  std::set<Pid> others_;        // other processes
  std::vector<Unrecorded> unrecorded_;
  Clock::time_point next_look_;
};

}  // namespace swipr::session
