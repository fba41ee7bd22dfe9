// What a started command runs besides the images that are recorded: processes that the preload
// cannot get into, with the reason. Found by looking through /proc now and then; what lives for
// less than the time between two looks is not seen.
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
  std::chrono::nanoseconds cpu{0};  // when it was last seen
};

// One line for each program and reason: "not recorded: app (3 processes, such as 4711, with 0.120 s
// of CPU time): is statically linked: …".
std::vector<std::string> describe(const std::vector<Unrecorded>& unrecorded);

// Why the preload of this rendezvous is not in a process that runs; nullopt: nothing is known.
std::optional<std::string> find_reason_for_absence(Pid pid, const std::string& rendezvous);

class Descendants {
 public:
  using Clock = std::chrono::steady_clock;

  // `root` is the command, `rendezvous` the path of its socket.
  Descendants(Pid root, std::string rendezvous);

  // An image of this process has connected.
  void on_connected(Pid pid);
  Clock::time_point next_look() const { return next_look_; }
  // Looks through /proc. Bounds: one readdir, and a few reads for each new or descendant process.
  void look(const std::set<Pid>& connected);

  // In the order in which they were found; without those that have connected since.
  std::vector<Unrecorded> unrecorded() const;

 private:
  using Image = std::pair<std::uint64_t, std::uint64_t>;  // device and inode of the executable
  struct Known {
    std::optional<Image> recorded;                  // connected last as this image
    std::optional<Clock::time_point> missed_since;  // first seen without a connection
    std::optional<Image> told;                      // is in `unrecorded_` as this image …
    std::size_t place = 0;  // … there; its reason is empty when it was wrong
  };

  void judge(Pid pid, const host::ProcessStat& stat, Known& known);
  void tell(Pid pid, const host::ProcessStat& stat, Known& known, const Image& image,
            std::string reason);

  std::string rendezvous_;
  std::map<Pid, Known> known_;  // the command's processes
  std::set<Pid> others_;        // processes that are none
  std::vector<Unrecorded> unrecorded_;
  Clock::time_point next_look_;
};

}  // namespace swipr::session
