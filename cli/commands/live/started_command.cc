#include "cli/commands/live/started_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <utility>

#include "cli/commands/output/terminal.h"
#include "cli/session/http/connection.h"
#include "common/host/proc.h"

namespace swipr::commands {

using session::CommandFailure;

std::variant<std::unique_ptr<StartedCommand>, CommandFailure> StartedCommand::start(
    const std::vector<std::string>& command, const session::SignalWatch& signals) {
  auto prepared = session::prepare_command(command, signals.previous_mask());
  if (auto* failure = std::get_if<CommandFailure>(&prepared)) return std::move(*failure);
  auto& [plan, rendezvous] = std::get<session::PreparedCommand>(prepared);
  auto launch = session::Launch::prepare(plan);
  if (!launch) return CommandFailure{launch.error().message()};
  const Pid pid = launch->pid();
  if (auto run = launch->run(); !run) return session::launch_failure(command.front(), run.error());
  return std::unique_ptr<StartedCommand>(new StartedCommand(std::move(rendezvous), pid));
}

std::optional<session::Target> StartedCommand::try_accept() {
  host::UniqueFd connection = rendezvous_.try_accept();
  if (!connection) return std::nullopt;
  const auto peer = session::read_peer(connection.value());
  if (!peer || !session::is_recordable(*peer)) return std::nullopt;
  const auto status = host::read_process_status(peer->pid);
  std::string name = status ? status->name : "gone";
  if (peer->pid == pid_) return session::Target{pid_, std::move(name), std::move(connection)};
  // Its connection is closed, so that it runs on.
  if (!std::exchange(has_told_of_others_, true)) {
    print_note(fmt::format(
        "only the command is shown, not processes that it starts, such as {} ({}): use --pid {}",
        peer->pid.value, name, peer->pid.value));
  }
  return std::nullopt;
}

std::optional<session::Target> StartedCommand::wait_for_image(session::SignalWatch& signals) {
  while (!has_ended()) {
    std::array<pollfd, 2> waits = {{{fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) <= 0) continue;
    if (waits[0].revents != 0) {
      if (auto target = try_accept()) return target;
    }
    while (const auto signal = signals.try_take()) on_signal(*signal);
  }
  return std::nullopt;
}

void StartedCommand::on_signal(const session::CaughtSignal& signal) {
  if (signal.number != SIGCHLD) {
    if (!has_ended() && !signal.from_kernel) ::kill(pid_.value, signal.number);
    return;
  }
  int status = 0;
  if (has_ended() || ::waitpid(pid_.value, &status, WNOHANG) != pid_.value) return;
  status_ = status;
  rendezvous_.stop_listening();
}

}  // namespace swipr::commands
