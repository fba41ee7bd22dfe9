// The command of `view --live -- CMD`: its images connect one after the other, as it executes
// programs. Processes that it starts are not followed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/session/find/targets.h"
#include "cli/session/launch/command.h"
#include "cli/session/launch/launch.h"
#include "cli/session/launch/signal_watch.h"
#include "common/core/ids.h"

namespace swipr::commands {

class StartedCommand {
 public:
  // Starts it. It has been reaped when has_ended() is true.
  static std::variant<std::unique_ptr<StartedCommand>, session::CommandFailure> start(
      const std::vector<std::string>& command, const session::SignalWatch& signals);
  StartedCommand(const StartedCommand&) = delete;
  StartedCommand& operator=(const StartedCommand&) = delete;

  // Readable when an image waits to be recorded.
  int fd() const { return rendezvous_.fd(); }
  // The next image of the command itself.  Blocks: never.
  std::optional<session::Target> try_accept();
  // Blocks: until the first image connects.  Returns nullopt if the command has ended without one.
  std::optional<session::Target> wait_for_image(session::SignalWatch& signals);

  // Takes the end of the command; passes other signals on to it, as those from the terminal have
  // reached it already.
  void on_signal(const session::CaughtSignal& signal);
  bool has_ended() const { return status_.has_value(); }
  // Of the command that has ended, as a shell reports it.
  int exit_code() const { return session::exit_code_of(status_.value_or(0)); }

 private:
  StartedCommand(session::Rendezvous rendezvous, Pid pid)
      : rendezvous_(std::move(rendezvous)), pid_(pid) {}

  session::Rendezvous rendezvous_;
  Pid pid_;
  std::optional<int> status_;
  bool has_told_of_others_ = false;
};

}  // namespace swipr::commands
