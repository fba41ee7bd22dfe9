#include "cli/session/find/places.h"

#include <dirent.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

namespace swipr::session {

namespace {

template <typename Number>
std::optional<Number> parse_whole(std::string_view text, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename Value>
void add_once(std::vector<Value>& values, Value value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) {
    values.push_back(std::move(value));
  }
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Decodes percent-encoding (RFC 3986, 2.1). Invalid sequences are kept.
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' && i + 2 < text.size()
                          ? parse_whole<std::uint8_t>(text.substr(i + 1, 2), 16)
                          : std::nullopt;
    out += byte ? static_cast<char>(*byte) : text[i];
    if (byte) i += 2;
  }
  return out;
}

// Returns "/proc/PID/root" if the process has another root or mount namespace, else "".
std::string root_prefix(Pid pid) {
  char target[PATH_MAX];
  const std::string link = host::proc_path(pid, "root");
  const ssize_t length = ::readlink(link.c_str(), target, sizeof target);
  if (length < 0) return "";  // not permitted; files in it could not be opened either
  const bool same_root = std::string_view(target, static_cast<std::size_t>(length)) == "/";
  const Pid self{::getpid()};
  const bool same_mounts =
      host::read_namespace_inode(pid, "mnt") == host::read_namespace_inode(self, "mnt");
  return same_root && same_mounts ? "" : link;
}

std::string read_environment(Pid pid) {
  auto text = host::read_file(host::proc_path(pid, "environ"));
  return text ? *std::move(text) : std::string();
}

// The names that Swift Profile Recorder uses are accepted as well.
std::optional<std::string> find_server_url(std::string_view environment) {
  for (std::string_view name :
       {"SWIPR_SERVER_URL", "SWIPR_SERVER_URL_PATTERN", "PROFILE_RECORDER_SERVER_URL",
        "PROFILE_RECORDER_SERVER_URL_PATTERN"}) {
    if (auto url = host::find_variable(environment, name); url && !url->empty()) return url;
  }
  return std::nullopt;
}

void add_matches(const char* pattern, std::vector<std::string>& directories) {
  glob_t found{};
  if (::glob(pattern, GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i)
      add_once<std::string>(directories, found.gl_pathv[i]);
  }
  ::globfree(&found);
}

// The folders of all users in a shared one: "/pod" and "/pod/{UID}".
void add_users_below(std::string pattern, std::vector<std::string>& directories) {
  const bool names_user = pattern.find("{UID}") != std::string::npos;
  replace_all(pattern, "{UID}", "[0-9]*");
  add_matches((names_user ? pattern : pattern + "/[0-9]*").c_str(), directories);
}

// Keeps each existing directory once, even if it has several paths.
std::vector<std::string> existing_once(const std::vector<std::string>& directories) {
  std::vector<std::string> existing;
  std::set<std::pair<dev_t, ino_t>> seen;
  for (const std::string& directory : directories) {
    struct stat info {};
    if (::lstat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    if (seen.emplace(info.st_dev, info.st_ino).second) existing.push_back(directory);
  }
  return existing;
}

}  // namespace

std::optional<SocketName> parse_socket_name(std::string_view name) {
  constexpr std::string_view kSuffix = ".sock";
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  SocketName result;
  const std::size_t dash = name.find('-');
  const auto pid = parse_whole<std::int32_t>(name.substr(0, dash));
  if (!pid || *pid <= 0) return std::nullopt;
  result.pid = *pid;
  if (dash == std::string_view::npos) return result;
  result.pid_namespace = parse_whole<std::uint64_t>(name.substr(dash + 1));
  return result.pid_namespace ? std::optional(result) : std::nullopt;
}

std::vector<std::string> socket_directories(uid_t uid, std::string_view environment) {
  std::vector<std::string> directories;
  if (auto own = host::find_variable(environment, "SWIPR_SOCKET_DIR"); own && !own->empty()) {
    replace_all(*own, "{UID}", std::to_string(uid));
    directories.push_back(*own);
    directories.push_back(fmt::format("{}/{}", *own, uid));  // if others can write to it
  }
  if (auto run = host::find_variable(environment, "XDG_RUNTIME_DIR"); run && !run->empty()) {
    add_once(directories, *run + "/swipr");
  }
  add_once(directories, fmt::format("/run/swipr/{}", uid));
  add_once(directories, fmt::format("/tmp/swipr-{}", uid));
  add_once(directories, fmt::format("/run/user/{}/swipr", uid));
  return directories;
}

std::string own_environment() {
  std::string environment;
  for (const char* name : {"SWIPR_SOCKET_DIR", "XDG_RUNTIME_DIR"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) environment += fmt::format("{}={}", name, value) + '\0';
  }
  return environment;
}

std::optional<Place> parse_server_url(std::string_view url, Pid pid) {
  std::string path;
  if (url.starts_with("unix://")) {
    path = url.substr(7);
  } else if (url.starts_with("http+unix://")) {
    path = percent_decoded(url.substr(12));
  }
  replace_all(path, "{PID}", std::to_string(pid.value));
  const std::size_t slash = path.rfind('/');
  if (path.empty() || path.front() != '/' || slash + 1 == path.size()) return std::nullopt;
  return Place{slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

std::vector<Place> find_places(Pid pid, const host::ProcessStatus& status) {
  const std::string environment = read_environment(pid);
  const std::string prefix = root_prefix(pid);
  std::vector<std::string> directories = socket_directories(status.uid, environment);
  for (std::string& directory : socket_directories(status.uid, own_environment())) {
    add_once(directories, std::move(directory));
  }
  // The process may have changed its user after it opened the socket.
  for (std::string& directory : socket_directories(::geteuid(), environment)) {
    add_once(directories, std::move(directory));
  }

  std::vector<std::string> names;
  if (const auto inode = host::read_namespace_inode(pid, "pid")) {
    names.push_back(fmt::format("{}-{}.sock", status.namespace_pid.value, *inode));
  }
  names.push_back(fmt::format("{}.sock", status.namespace_pid.value));

  std::vector<Place> places;
  if (const auto url = find_server_url(environment)) {
    if (auto place = parse_server_url(*url, status.namespace_pid)) {
      place->directory.insert(0, prefix);
      places.push_back(*std::move(place));
    }
  }
  for (const std::string& root : {prefix, std::string()}) {
    for (const std::string& directory : directories) {
      for (const std::string& name : names) add_once(places, Place{root + directory, name});
    }
  }
  return places;
}

std::vector<std::string> find_socket_directories() {
  std::vector<std::string> directories;
  for (std::string& directory : socket_directories(::geteuid(), own_environment())) {
    add_once(directories, std::move(directory));
  }
  if (::geteuid() == 0) {
    for (const char* pattern : {"/tmp/swipr-*", "/run/swipr/*", "/run/user/*/swipr"}) {
      add_matches(pattern, directories);
    }
    if (const char* shared = std::getenv("SWIPR_SOCKET_DIR")) add_users_below(shared, directories);
  }
  for (Pid pid : host::list_processes()) {
    const auto status = host::read_process_status(pid);
    if (!status) continue;
    const std::string prefix = root_prefix(pid);
    for (const std::string& directory : socket_directories(status->uid, read_environment(pid))) {
      add_once(directories, prefix + directory);
    }
  }
  return existing_once(directories);
}

std::vector<std::string> entries_of(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), ::closedir);
  if (!entries) return names;
  while (const dirent* entry = ::readdir(entries.get())) names.emplace_back(entry->d_name);
  return names;
}

}  // namespace swipr::session
