// The progress line of a recording.
#pragma once

#include <cstddef>
#include <string>

#include "cli/session/launch/signal_watch.h"
#include "cli/session/record_session.h"

namespace swipr::commands {

// At most `columns` wide; less important parts are omitted first.
std::string format_progress(const session::SessionProgress& progress, std::size_t columns);

// Redraws one line on stderr and erases it at the end.
class ProgressLine {
 public:
  ~ProgressLine() { clear(); }
  void show(const session::SessionProgress& progress);
  void clear();

 private:
  std::size_t shown_columns_ = 0;
};

// Runs the session to its end, with the line on a terminal. After it Ctrl-C has its usual effect
// again, because a conversion can take long.
session::SessionResult run_session(session::RecordSession& session, session::SignalWatch& signals,
                                   bool shows_progress);

}  // namespace swipr::commands
