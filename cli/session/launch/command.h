// The command of `record -- CMD` and `view --live -- CMD`: whether it can be recorded, what is
// needed to start it, and what its end means.
#pragma once

#include <signal.h>

#include <string>
#include <variant>
#include <vector>

#include "cli/session/launch/launch.h"

namespace swipr::session {

// As a shell reports them.
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;

struct CommandFailure {
  std::string message;
  int exit_code = 1;
};

struct PreparedCommand {
  LaunchPlan plan;
  Rendezvous rendezvous;
};

// `command` is the program and its arguments, `signal_mask` is for it.
std::variant<PreparedCommand, CommandFailure> prepare_command(
    const std::vector<std::string>& command, const sigset_t& signal_mask);

// The failure of Launch::run().
CommandFailure launch_failure(const std::string& program, const host::Error& error);

// The exit code that a shell reports for a status of waitpid.
int exit_code_of(int status);

// The message if no image of the command connected, for no known reason.
std::string explain_silence(const std::string& program);

}  // namespace swipr::session
