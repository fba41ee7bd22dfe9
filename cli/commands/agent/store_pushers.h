// The pushers of an agent, one per store, and what they report.
#pragma once

#include <poll.h>

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/agent/agent_counters.h"
#include "cli/commands/agent/agent_log.h"
#include "cli/commands/agent/slice_job.h"
#include "cli/options/options.h"
#include "cli/push/pusher.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::commands {

class StorePushers {
 public:
  StorePushers(AgentLog& log, AgentCounters& counters) : log_(log), counters_(counters) {}

  // Errors: a URL or the spool is not usable.
  host::Result<void> start(const options::AgentOptions& options);

  std::vector<SliceStore> stores() const;
  void add_descriptors(std::vector<pollfd>& waits) const;
  void read();
  void notify();
  void finish();
  bool have_ended();
  // What a worker says if requests were removed because the spool was full, and its lines.
  static std::string removal_line(const std::string& origin, std::uint64_t count);
  void on_line(std::string_view line);

 private:
  struct Store {
    SliceStore place;
    host::UniqueFd lock;  // of the spool
    push::Pusher pusher;
    bool is_waiting = false;        // it was said that the store does not answer,
    bool is_dropping = false;       // and that profiles are too old for it
    std::string last_refusal = {};  // said already
  };
  void on_event(Store& store, const push::PushEvent& event);

  AgentLog& log_;
  AgentCounters& counters_;
  std::vector<Store> stores_;
};

}  // namespace swipr::commands
