#include "cli/session/find/targets.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "cli/session/find/agent_info.h"
#include "cli/session/find/listening_sockets.h"
#include "cli/session/find/places.h"
#include "cli/session/find/silence.h"
#include "cli/session/find/wake.h"
#include "cli/session/http/connection.h"
#include "cli/session/launch/program.h"
#include "common/host/proc.h"

namespace swipr::session {

namespace {

using host::Error;
using host::Result;
using std::chrono::nanoseconds;
using namespace std::chrono_literals;

// How long to wait for a program that is starting: it may still be in exec or in the loader, and
// its control thread needs a CPU before it listens.
constexpr nanoseconds kForkToExec = 250ms;
constexpr nanoseconds kLoadToListen = 3s;
constexpr nanoseconds kBetweenTries = 10ms;
constexpr nanoseconds kAskedToListen = 3s;  // takes 1 ms if a CPU is free

std::string user_name(uid_t uid) {
  const passwd* entry = ::getpwuid(uid);
  return entry == nullptr ? fmt::format("user {}", uid) : std::string(entry->pw_name);
}

std::string joined(const std::vector<std::string>& arguments, std::size_t limit) {
  std::string line;
  for (const std::string& argument : arguments) {
    line += line.empty() ? "" : " ";
    line += argument;
  }
  if (line.size() > limit) line.replace(limit, std::string::npos, "…");
  return line;
}

Result<std::string> read_maps(Pid pid) {
  return host::read_file(host::proc_path(pid, "maps"), std::size_t{64} << 20);
}

bool names_preload(std::string_view text) {
  return text.find("libswipr_preload") != std::string_view::npos;
}

bool may_listen_soon(Pid pid) {
  const auto age = host::read_process_age(pid);
  if (!age || *age > kLoadToListen) return false;
  if (*age < kForkToExec) return true;
  const auto maps = read_maps(pid);
  return maps && names_preload(*maps) && !find_reason_for_silence(pid);
}

// The reason why no socket of the process answered, and the remedy.
Error unreachable(Pid pid, const host::ProcessStatus& status, const std::string& denied) {
  const std::string process = fmt::format("process {} ({})", pid.value, status.name);
  if (status.state == 'Z') return Error(fmt::format("{} has already ended (zombie)", process));
  const auto maps = read_maps(pid);
  const bool foreign = status.uid != ::geteuid() && ::geteuid() != 0;
  const std::string detail = denied.empty() ? "" : fmt::format(" (no access to {})", denied);
  if (foreign && (!denied.empty() || !maps)) {
    return Error(fmt::format("{} belongs to {}{}: run swipr as that user or as root", process,
                             user_name(status.uid), detail));
  }
  if (!maps) {
    return Error(fmt::format(
        "{} cannot be examined ({}): it has privileges that swipr lacks (file capabilities, for "
        "which the loader ignores LD_PRELOAD) or hides its memory (PR_SET_DUMPABLE); run swipr as "
        "root to see",
        process, maps.error().message()));
  }
  if (names_preload(*maps)) {
    if (const auto reason = find_reason_for_silence(pid)) {
      return Error(fmt::format("{} {}", process, *reason));
    }
    return Error(fmt::format(
        "{} has the preload, but none of its sockets answers{}: it may be disabled (SWIPR_DISABLE, "
        "SWIPR_ONLY), listen elsewhere (SWIPR_SERVER_URL), have no "
        "folder for its socket that it can write to (SWIPR_SOCKET_DIR), or its socket file was "
        "deleted; start it with "
        "SWIPR_LOG=stderr to see the reason",
        process, detail));
  }
  const auto environment = host::read_file(host::proc_path(pid, "environ"));
  const auto preload = environment ? host::find_variable(*environment, "LD_PRELOAD") : std::nullopt;
  if (preload && names_preload(*preload)) {
    const auto obstacle = find_obstacle(host::proc_path(pid, "exe"));
    return Error(fmt::format(
        "{} was started with LD_PRELOAD={}, but the library was not loaded: {}", process,
        joined({*preload}, 120),
        obstacle ? "the program " + *obstacle
                 : "the loader finds no library of this name; start it with " + preload_setting()));
  }
  const auto arguments = host::read_command_line(pid);
  if (arguments.empty())
    return Error(fmt::format("{} is a kernel thread or about to end", process));
  return Error(fmt::format("{} was not started with the preload; start it as: {} {}", process,
                           preload_setting(), joined(arguments, 120)));
}

// Returns false if /proc belongs to another PID namespace: the pids of socket peers then do not
// match it.
bool proc_is_ours() {
  char text[16];
  const ssize_t size = ::readlink("/proc/self", text, sizeof text);
  return size > 0 &&
         std::string_view(text, static_cast<std::size_t>(size)) == std::to_string(::getpid());
}

// `denied`: a place that could not be accessed, if any.
host::UniqueFd try_connect(Pid pid, const host::ProcessStatus& status, std::string& denied) {
  // A peer without an id is in a PID namespace that is not visible here, where this number
  // means another process.
  const bool may_be_nameless = !proc_is_ours();
  for (const Place& place : find_places(pid, status)) {
    ConnectOutcome outcome = connect_in(place.directory, place.name);
    if (outcome.fd &&
        (outcome.peer.pid == pid || (may_be_nameless && outcome.peer.pid.value == 0))) {
      return std::move(outcome.fd);
    }
    if (outcome.error == EACCES || outcome.error == EPERM) denied = place.path();
  }
  return {};
}

// A process in a PID namespace that is not visible here. Only the socket is shared, and the id
// is the one inside that namespace.
std::optional<Target> connect_hidden(Pid pid) {
  for (const std::string& directory : find_socket_directories()) {
    for (const std::string& entry : entries_of(directory)) {
      const auto name = parse_socket_name(entry);
      if (!name || name->pid != pid.value) continue;
      ConnectOutcome outcome = connect_in(directory, entry);
      if (!outcome.fd || outcome.peer.pid.value != 0) continue;
      const ConnectOutcome asking = connect_in(directory, entry);
      if (!asking.fd) continue;
      const auto answer = fetch(asking.fd.value(), "/v1/info", 2s);
      if (!answer) continue;
      if (const auto info = parse_agent_info(answer->body)) {
        return Target{pid, info->command, std::move(outcome.fd)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Target> connect_target(Pid pid) {
  std::optional<std::chrono::steady_clock::time_point> until;
  for (;;) {
    const auto status = host::read_process_status(pid);
    if (!status) {
      if (auto hidden = connect_hidden(pid)) return *std::move(hidden);
      return Error(
          fmt::format("no process with id {}; `swipr list` shows what can be recorded", pid.value));
    }
    if (status->group != pid) {
      return Error(fmt::format("{} is a thread of process {}: use --pid {}", pid.value,
                               status->group.value, status->group.value));
    }
    std::string denied;
    if (auto connection = try_connect(pid, *status, denied)) {
      return Target{pid, status->name, std::move(connection)};
    }
    if (!denied.empty()) return unreachable(pid, *status, denied);
    if (!may_listen_soon(pid)) {
      if (!until && !ask_to_listen_again(pid)) return unreachable(pid, *status, denied);
      const auto now = std::chrono::steady_clock::now();
      if (!until) until = now + kAskedToListen;
      if (now > *until) return unreachable(pid, *status, denied);
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

Result<Target> connect_socket(const std::string& socket) {
  const std::size_t slash = socket.rfind('/');
  const std::string directory = slash == std::string::npos ? "."
                                : slash == 0               ? "/"
                                                           : socket.substr(0, slash);
  const std::string name = socket.substr(slash + 1);  // npos + 1 is 0
  std::optional<AgentInfo> info;
  for (;;) {
    ConnectOutcome outcome = connect_in(directory, name);
    if (!outcome.fd) {
      return host::system_error(fmt::format("no process answers at {}", socket), outcome.error);
    }
    if (outcome.peer.uid != ::geteuid() && outcome.peer.uid != 0 && ::geteuid() != 0) {
      return Error(
          fmt::format("the process at {} belongs to {}", socket, user_name(outcome.peer.uid)));
    }
    const Pid inner{info ? static_cast<std::int32_t>(info->pid) : 0};
    if (info) {
      return Target{outcome.peer.pid.value != 0 ? outcome.peer.pid : inner, info->command,
                    std::move(outcome.fd)};
    }
    const auto answer = fetch(outcome.fd.value(), "/v1/info", 2s);
    if (!answer) return answer.error().with_context(socket);
    auto parsed = parse_agent_info(answer->body);
    if (answer->status != 200 || !parsed) {
      return Error(fmt::format("{} is not the socket of a process that swipr can record", socket));
    }
    info = *std::move(parsed);
  }
}

std::vector<Pid> find_processes(std::string_view name) {
  std::vector<Pid> found;
  const Pid self{::getpid()};
  for (Pid pid : host::list_processes()) {
    const auto status = host::read_process_status(pid);
    if (!status || status->state == 'Z' || pid == self) continue;
    const auto arguments = host::read_command_line(pid);
    std::string_view program = arguments.empty() ? std::string_view() : arguments.front();
    program.remove_prefix(program.rfind('/') + 1);  // npos + 1 is 0
    if (status->name == name || program == name) found.push_back(pid);
  }
  return found;
}

host::Result<Target> connect_named(std::string_view name) {
  std::optional<host::Error> problem;
  for (const Pid pid : find_processes(name)) {
    auto target = connect_target(pid);
    if (target) return target;
    problem = target.error();
  }
  if (problem) return *problem;
  return host::Error(
      fmt::format("no process is named '{}'; `swipr list` shows what can be recorded", name));
}

namespace {

nanoseconds age_since(std::int64_t start_time_ns) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto start = nanoseconds(start_time_ns);
  return start_time_ns == 0 || start > now ? nanoseconds(0) : nanoseconds(now - start);
}

// True if no process will listen on this socket again. A connection is also refused between
// bind() and listen(), so recent sockets are kept.
bool is_stale(const Place& place, int error) {
  struct stat info {};
  if (error != ECONNREFUSED || ::lstat(place.path().c_str(), &info) != 0) return false;
  const auto age = std::chrono::system_clock::now().time_since_epoch() -
                   std::chrono::seconds(info.st_mtim.tv_sec);
  const auto name = parse_socket_name(place.name);
  const bool pid_gone = name && !name->pid_namespace && !host::process_exists(Pid{name->pid});
  return S_ISSOCK(info.st_mode) && (pid_gone || age > std::chrono::seconds(10));
}

ListedProcess describe(const Place& place, const Peer& peer, const AgentInfo& info) {
  ListedProcess process;
  process.socket = place.path();
  process.pid = peer.pid.value != 0 ? peer.pid : Pid{static_cast<std::int32_t>(info.pid)};
  process.command = info.command;
  process.threads = info.threads;
  process.age = age_since(info.start_time_ns);
  if (peer.pid.value == 0) {
    process.hidden = info;
    return process;
  }
  if (const auto status = host::read_process_status(peer.pid)) {
    process.command = status->name;
    process.threads = status->threads;
  }
  process.age = host::read_process_age(peer.pid).value_or(process.age);
  return process;
}

ListedProcess describe(const Place& place, const Listened& listener) {
  ListedProcess process;
  process.socket = place.path();
  process.pid = listener.pid;
  process.command = listener.status.name;
  process.threads = listener.status.threads;
  process.age = host::read_process_age(listener.pid).value_or(nanoseconds(0));
  return process;
}

// `owner`: the process, if the name of the socket does not contain its id.
void list_socket(const Place& place, std::optional<Pid> owner, ListeningSockets& sockets,
                 Listing& listing) {
  if (const auto listener = sockets.find_listener(place, owner)) {
    listing.processes.push_back(describe(place, *listener));
    return;
  }
  const ConnectOutcome outcome = connect_in(place.directory, place.name);
  if (!outcome.fd) {
    if (is_stale(place, outcome.error)) {
      if (::unlink(place.path().c_str()) == 0) listing.removed.push_back(place.path());
    } else if (outcome.error != ENOENT && outcome.error != EACCES) {
      listing.notes.push_back(fmt::format("{}: {}", place.path(), std::strerror(outcome.error)));
    }
    return;
  }
  // A server that does not answer must not block the list.
  const auto answer = fetch(outcome.fd.value(), "/v1/info", std::chrono::seconds(2));
  if (!answer) {
    listing.notes.push_back(answer.error().with_context(place.path()).message());
    return;
  }
  const auto info = parse_agent_info(answer->body);
  if (answer->status != 200 || !info) {
    listing.notes.push_back(
        fmt::format("{}: not swipr's agent (HTTP {})", place.path(), answer->status));
    return;
  }
  listing.processes.push_back(describe(place, outcome.peer, *info));
}

// Sockets of agents that were killed between bind() and rename() (preload/agent/serve/listener.cc).
void remove_leftover(const Place& place, Listing& listing) {
  const ConnectOutcome outcome = connect_in(place.directory, place.name);
  if (outcome.fd || !is_stale(place, outcome.error)) return;
  if (::unlink(place.path().c_str()) == 0) listing.removed.push_back(place.path());
}

void list_directory(const std::string& directory, ListeningSockets& sockets, Listing& listing) {
  std::vector<std::string> names;
  std::vector<std::string> hidden_names;
  for (const std::string& name : entries_of(directory)) {
    if (parse_socket_name(name)) names.push_back(name);
    if (name.starts_with(".swipr-")) hidden_names.push_back(name);
  }
  for (const std::string& name : hidden_names) remove_leftover(Place{directory, name}, listing);
  for (const std::string& name : names) {
    list_socket(Place{directory, name}, std::nullopt, sockets, listing);
  }
}

}  // namespace

Listing list_targets() {
  Listing listing;
  ListeningSockets sockets(host::list_processes());
  for (const std::string& directory : find_socket_directories()) {
    list_directory(directory, sockets, listing);
  }
  // Processes whose socket has a name set by SWIPR_SERVER_URL.
  for (Pid pid : host::list_processes()) {
    const auto status = host::read_process_status(pid);
    if (!status) continue;
    for (const Place& place : find_places(pid, *status)) {
      if (!parse_socket_name(place.name)) list_socket(place, pid, sockets, listing);
    }
  }
  std::sort(listing.processes.begin(), listing.processes.end(),
            [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return listing;
}

Listing list_sockets(const std::vector<Place>& places) {
  std::vector<Pid> pids;  // those of other PID namespaces are asked over their sockets
  for (const Place& place : places) {
    if (const auto name = parse_socket_name(place.name)) pids.push_back(Pid{name->pid});
  }
  Listing listing;
  ListeningSockets sockets(pids);
  for (const Place& place : places) {
    if (parse_socket_name(place.name)) list_socket(place, std::nullopt, sockets, listing);
  }
  return listing;
}

}  // namespace swipr::session
