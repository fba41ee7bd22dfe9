#include "cli/session/launch/command.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/session/launch/program.h"

namespace swipr::session {

namespace {

// Returns the path of the program, or the reason why it cannot be recorded.
std::variant<std::string, CommandFailure> find_recordable(const std::string& name) {
  const ProgramSearch search = find_program(name);
  if (search.path.empty()) {
    const bool is_absent = search.error == ENOENT || search.error == ENOTDIR;
    return CommandFailure{fmt::format("cannot run {}: {}", name, std::strerror(search.error)),
                          is_absent ? kNotFound : kNotExecutable};
  }
  if (const auto obstacle = find_obstacle(search.path)) {
    return CommandFailure{fmt::format("cannot record {}: it {}", name, *obstacle)};
  }
  return search.path;
}

host::Result<PreparedCommand> prepare_program(const std::vector<std::string>& command,
                                              std::string program, const sigset_t& signal_mask) {
  auto preload = find_preload();
  if (!preload) return preload.error();
  auto rendezvous = Rendezvous::create();
  if (!rendezvous) return rendezvous.error();
  LaunchPlan plan;
  if (const auto traits = read_elf_traits(resolve_interpreter(program))) {
    if (auto runtime = find_leading_runtime(*traits); !runtime.empty()) {
      plan.preloads.push_back(std::move(runtime));
    }
  }
  plan.preloads.push_back(*std::move(preload));
  plan.program = std::move(program);
  plan.arguments = command;
  plan.rendezvous = rendezvous->path();
  plan.signal_mask = signal_mask;
  return PreparedCommand{std::move(plan), *std::move(rendezvous)};
}

}  // namespace

std::variant<PreparedCommand, CommandFailure> prepare_command(
    const std::vector<std::string>& command, const sigset_t& signal_mask) {
  auto program = find_recordable(command.front());
  if (auto* failure = std::get_if<CommandFailure>(&program)) return std::move(*failure);
  auto prepared = prepare_program(command, std::get<std::string>(std::move(program)), signal_mask);
  if (!prepared) return CommandFailure{prepared.error().message()};
  return *std::move(prepared);
}

CommandFailure launch_failure(const std::string& program, const host::Error& error) {
  return {fmt::format("cannot run {}: {}", program, error.message()), kNotExecutable};
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string explain_silence(const std::string& program) {
  return fmt::format(
      "nothing was recorded: {} did not load libswipr_preload.so or disabled it (SWIPR_DISABLE, "
      "SWIPR_ONLY); set SWIPR_LOG=stderr to see the reason",
      program);
}

}  // namespace swipr::session
