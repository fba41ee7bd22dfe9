#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "cli/session/checkup/checkup.h"
#include "cli/session/find/agent_info.h"
#include "cli/session/find/targets.h"
#include "cli/session/http/connection.h"
#include "cli/session/launch/program.h"
#include "common/host/proc.h"
#include "common/host/text/count_text.h"
#include "common/host/text/runtime_text.h"

namespace swipr::session {

namespace {

constexpr std::size_t kMapsLimit = std::size_t{64} << 20;

// The mapped library's path in the text of /proc/PID/maps; empty: not mapped.
std::string find_mapped_preload(std::string_view maps) {
  const std::size_t name = maps.find("/libswipr_preload");
  if (name == std::string_view::npos) return "";
  const std::size_t line = maps.rfind('\n', name) + 1;
  const std::size_t path = maps.find('/', line);
  return std::string(maps.substr(path, maps.find('\n', name) - path));
}

Finding check_state(const host::ProcessStatus& status) {
  switch (status.state) {
    case 'Z':
      return {Verdict::kFailed, "state", "has already ended (zombie)", ""};
    case 'T':
    case 't':
      return {Verdict::kFailed, "state", "stopped, so it cannot answer",
              fmt::format("continue it: kill -CONT {}", status.group.value)};
    default:
      return {Verdict::kFine, "state", host::counted(status.threads, "thread"), ""};
  }
}

std::optional<Finding> check_sleep(Pid pid) {
  const auto environment = host::read_file(host::proc_path(pid, "environ"));
  if (!environment) return std::nullopt;
  const auto disabled = host::find_variable(*environment, "SWIPR_DISABLE");
  if (disabled && !disabled->empty() && *disabled != "0") {
    return Finding{Verdict::kFailed, "environment",
                   "SWIPR_DISABLE is set: the preload does nothing",
                   "start it without SWIPR_DISABLE"};
  }
  if (const auto only = host::find_variable(*environment, "SWIPR_ONLY")) {
    return Finding{Verdict::kNote, "environment",
                   fmt::format("SWIPR_ONLY={}: the preload does nothing in other programs", *only),
                   ""};
  }
  return std::nullopt;
}

Finding check_loaded(Pid pid) {
  const auto maps = host::read_file(host::proc_path(pid, "maps"), kMapsLimit);
  if (!maps) {
    return {Verdict::kFailed, "preload", maps.error().message(),
            ::geteuid() == 0 ? "run swipr where the process runs, in its container"
                             : "run swipr as the user of the process, or as root"};
  }
  const std::string path = find_mapped_preload(*maps);
  if (!path.empty()) {
    const bool replaced = path.find(" (deleted)") != std::string::npos;
    return {replaced ? Verdict::kNote : Verdict::kFine, "preload", path,
            replaced ? "the file was replaced; restart the program to use the new one" : ""};
  }
  const std::string executable = host::proc_path(pid, "exe");
  if (const auto obstacle = find_obstacle(executable))
    return {Verdict::kFailed, "preload", fmt::format("not loaded: the process {}", *obstacle), ""};
  return {Verdict::kFailed, "preload", "not loaded into the process",
          fmt::format("start it with {} CMD, or with swipr record -- CMD", preload_setting())};
}

host::Result<AgentInfo> ask_for_info(Pid pid) {
  auto target = connect_target(pid);
  if (!target) return target.error();
  const auto answer = fetch(target->connection.value(), "/v1/info", std::chrono::seconds(2));
  if (!answer) return answer.error();
  return parse_agent_info(answer->body);
}

Finding check_version(const AgentInfo& info) {
  const std::string text = fmt::format("answers; version {}, {} running", info.version,
                                       host::counted(info.recordings, "recording"));
  if (info.version == SWIPR_VERSION) return {Verdict::kFine, "socket", text, ""};
  return {Verdict::kNote, "socket", text + ", this swipr is " SWIPR_VERSION,
          "restart the program if a recording fails"};
}

Finding check_runtime(const RuntimeInfo& runtime) {
  return {runtime.refusal.empty() ? Verdict::kFine : Verdict::kNote, "runtime",
          host::describe_runtime(runtime.language, runtime.version, runtime.refusal), ""};
}

void check_answer(Pid pid, std::vector<Finding>& findings) {
  const auto info = ask_for_info(pid);
  if (!info) {
    findings.push_back({Verdict::kFailed, "socket", info.error().message(), ""});
    return;
  }
  findings.push_back(check_version(*info));
  for (const RuntimeInfo& runtime : info->runtimes) findings.push_back(check_runtime(runtime));
  if (!info->memory.starts_with("too little")) return;
  findings.push_back({Verdict::kFailed, "memory",
                      "its memory cgroup leaves too little for a recording",
                      "raise the limit: 4 MiB and 12 KiB per thread must be free"});
}

std::optional<Finding> check_seccomp(Pid pid) {
  const auto text = host::read_file(host::proc_path(pid, "status"));
  if (!text || text->find("\nSeccomp:\t2") == std::string::npos) return std::nullopt;
  return Finding{Verdict::kNote, "seccomp",
                 "a filter is active; that of a default container is fine, a stricter one may "
                 "hide stacks of running threads",
                 ""};
}

}  // namespace

std::vector<Finding> check_process(Pid pid) {
  const auto status = host::read_process_status(pid);
  if (!status) {
    return {{Verdict::kFailed, "process", fmt::format("no process with id {}", pid.value),
             "swipr list shows what can be recorded"}};
  }
  std::vector<Finding> findings{
      {Verdict::kFine, "process", fmt::format("{} ({})", pid.value, status->name), ""},
      check_state(*status),
      check_loaded(pid)};
  if (auto sleep = check_sleep(pid)) findings.push_back(*std::move(sleep));
  if (auto seccomp = check_seccomp(pid)) findings.push_back(*std::move(seccomp));
  const bool loaded = findings[2].verdict != Verdict::kFailed;
  if (loaded && findings[1].verdict != Verdict::kFailed) check_answer(pid, findings);
  return findings;
}

}  // namespace swipr::session
