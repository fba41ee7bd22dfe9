// The process that `top` follows, its last seconds, and the function in it that is traced.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/live/followed_process.h"
#include "cli/commands/top/function_trace.h"
#include "cli/live/figures.h"
#include "cli/live/view.h"
#include "cli/live/window.h"
#include "cli/options/options.h"
#include "cli/profile/recording/recording.h"
#include "cli/profile/tables/lock_cycles.h"
#include "cli/session/find/targets.h"
#include "common/host/result.h"

namespace swipr::commands {

class Followed {
 public:
  Followed(session::Target target, const options::TopOptions& options);

  int fd() const { return process_.fd(); }
  // Returns false at the end of the process.
  host::Result<bool> read();

  // Of the traced function's stream; -1: there is nothing to be read.
  int trace_fd() const { return trace_ == nullptr ? -1 : trace_->fd(); }
  void read_trace() { trace_->read(); }
  bool is_tracing() const { return trace_ != nullptr && trace_->is_tracing(); }
  // Traces the function that is shown with this name, or ends tracing. Returns what is to be said.
  std::string toggle_trace(const std::string& function);

  live::Figures figures(const live::View& view, bool waits_for_names);
  std::chrono::nanoseconds covered(std::size_t seconds) const { return window_.covered(seconds); }
  // The window as a page.  Returns its name.
  host::Result<std::string> save(const live::View& view);

 private:
  // The recording that the view is of, and its samples.
  FollowedProcess& shown(const live::View& view);
  std::vector<profile::Sample> shown_samples(const live::View& view) const;

  options::TopOptions options_;
  FollowedProcess process_;
  live::Window window_;
  profile::LastWaits last_waits_;
  std::unique_ptr<FunctionTrace> trace_;
};

}  // namespace swipr::commands
