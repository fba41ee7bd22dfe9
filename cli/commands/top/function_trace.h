// A function of a followed process that is traced: its calls, and the samples in them, from a
// stream of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/latency/function_finder.h"
#include "cli/commands/live/followed_process.h"
#include "cli/live/call_window.h"
#include "cli/live/credits.h"
#include "cli/live/figures.h"
#include "cli/options/options.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "common/host/result.h"

namespace swipr::commands {

// Where the function that is shown as `function` is in the process: of its frames one that is no
// inlined copy, if there is one; none: only code outside of all files has this name.
std::optional<std::uint64_t> find_code_of(const profile::Recording& recording,
                                          const profile::Names& names, const std::string& function);

class FunctionTrace {
 public:
  // Searches the function at this address, of which `shown` is the name until then, and traces it.
  // `process`: modules are copied from it.
  FunctionTrace(const profile::Recording& process, Pid pid, std::uint64_t address,
                std::string shown, const options::TopOptions& options);

  // Begins to trace when the function is found.  Blocks: never, but for the connection.
  void advance();
  // -1: nothing is to be read.
  int fd() const;
  void read();

  // What is known of the calls of the last seconds.
  live::Latency latency(std::size_t seconds) const;
  bool is_tracing() const { return process_ != nullptr; }

  // While is_tracing(): the process, and its samples of the last seconds in calls above their
  // 95th percentile.
  FollowedProcess& process() { return *process_; }
  std::vector<profile::Sample> slow_samples(std::size_t seconds) const;
  std::chrono::nanoseconds covered(std::size_t seconds) const { return calls_.covered(seconds); }

 private:
  const profile::TracedFunction* traced() const;
  void fail(std::string reason);
  std::optional<std::chrono::nanoseconds> threshold(std::size_t seconds) const;

  Pid pid_;
  std::string name_;
  options::TopOptions options_;
  std::future<host::Result<FoundFunctions>> search_;
  std::unique_ptr<FollowedProcess> process_;
  live::CallWindow calls_;
  live::Credits credits_;
  std::string problem_;  // why it is not traced, or no longer; empty: it is, or will be
};

}  // namespace swipr::commands
