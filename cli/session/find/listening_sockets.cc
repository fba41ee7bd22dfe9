#include "cli/session/find/listening_sockets.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

namespace swipr::session {

namespace {

constexpr std::size_t kMaxTableBytes = std::size_t{64} << 20;

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

// The directory as processes with that root see it: "/tmp" for "/proc/7/root/tmp".
std::string_view inside_root(std::string_view directory) {
  constexpr std::string_view kProc = "/proc/";
  if (!directory.starts_with(kProc)) return directory;
  const std::size_t end = directory.find_first_not_of("0123456789", kProc.size());
  if (end == std::string_view::npos || !directory.substr(end).starts_with("/root/")) {
    return directory;
  }
  return directory.substr(end + std::string_view("/root").size());
}

}  // namespace

// Columns: Num RefCount Protocol Flags Type St Inode Path (net/unix/af_unix.c, unix_seq_show).
std::set<std::string, std::less<>> parse_listening_paths(std::string_view text) {
  constexpr std::string_view kAcceptsConnections = "00010000";  // __SO_ACCEPTCON
  std::set<std::string, std::less<>> paths;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    for (int skipped = 0; skipped < 3; ++skipped) take_word(line);
    const bool listens = take_word(line) == kAcceptsConnections;
    for (int skipped = 0; skipped < 3; ++skipped) take_word(line);
    if (!line.empty()) line.remove_prefix(1);
    if (listens && line.starts_with('/')) paths.emplace(line);
  }
  return paths;
}

ListeningSockets::ListeningSockets(const std::vector<Pid>& pids) {
  for (const Pid pid : pids) {
    if (auto status = host::read_process_status(pid))
      processes_.push_back({pid, *std::move(status)});
  }
}

std::optional<Listened> ListeningSockets::find_listener(const Place& place,
                                                        std::optional<Pid> owner) {
  const auto name = parse_socket_name(place.name);
  struct stat info {};
  if (!name && !owner) return std::nullopt;
  if (::lstat(place.path().c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return std::nullopt;
  for (const Listened& process : processes_) {
    if (owner && process.pid != *owner) continue;
    if (!owner && process.status.namespace_pid.value != name->pid) continue;
    const auto inode = host::read_namespace_inode(process.pid, "pid");
    if (!inode || (!owner && name->pid_namespace.value_or(*inode) != *inode)) continue;
    const auto path = fmt::format("{}/.swipr-{}-{}", inside_root(place.directory),
                                  process.status.namespace_pid.value, *inode);
    if (listens_at(process.pid, path)) return process;
  }
  return std::nullopt;
}

bool ListeningSockets::listens_at(Pid pid, const std::string& path) {
  const auto net = host::read_namespace_inode(pid, "net");
  if (!net) return false;
  const auto [entry, is_new] = paths_.try_emplace(*net);
  if (is_new) {
    if (const auto text = host::read_file(host::proc_path(pid, "net/unix"), kMaxTableBytes)) {
      entry->second = parse_listening_paths(*text);
    }
  }
  return entry->second.contains(path);
}

}  // namespace swipr::session
