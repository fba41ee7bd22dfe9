// The folder in which programs of this user make their sockets: the same decisions as
// preload/agent/serve/listener.cc takes, with the reason and the remedy.
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/session/checkup/checkup.h"
#include "cli/session/find/places.h"
#include "common/host/proc.h"

namespace swipr::session {

namespace {

std::string owner_name(uid_t uid) {
  const passwd* entry = ::getpwuid(uid);
  return entry == nullptr ? fmt::format("user {}", uid) : std::string(entry->pw_name);
}

struct FolderState {
  bool usable = false;
  std::string path;    // of the folder that is used
  std::string reason;  // why it is not usable
};

FolderState examine_absent(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path();
  if (::access(parent.c_str(), W_OK | X_OK) == 0) return {true, path, ""};
  return {false, path, fmt::format("cannot be made: {}: {}", parent, std::strerror(errno))};
}

FolderState examine(const std::string& path, uid_t uid, bool may_be_shared = true) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return examine_absent(path);
  if (!S_ISDIR(status.st_mode)) return {false, path, "is not a folder, or a symlink to one"};
  if (status.st_uid == uid && (status.st_mode & 0022) == 0) return {true, path, ""};
  if (may_be_shared && (status.st_uid == uid || status.st_uid == 0)) {
    return examine(fmt::format("{}/{}", path, uid), uid, false);
  }
  if (status.st_uid == uid) return {false, path, "can be changed by other users"};
  return {false, path, fmt::format("belongs to {}", owner_name(status.st_uid))};
}

std::string remedy_for(const std::string& path, bool is_set) {
  if (is_set) return "set SWIPR_SOCKET_DIR to a folder of your own, for the program and for swipr";
  return fmt::format(
      "as root, remove {}, or make /run/swipr, in which nobody can take the folder of another: "
      "deploy/tmpfiles.d/swipr.conf",
      path);
}

}  // namespace

Finding check_socket_folder(uid_t uid, const std::string& environment) {
  constexpr const char* kSubject = "socket folder";
  const bool is_set = !host::find_variable(environment, "SWIPR_SOCKET_DIR").value_or("").empty();
  std::string refused;
  FolderState state;
  for (const std::string& path : socket_directories(uid, environment)) {
    // Where /run/swipr is not installed, it is no place.
    if (path.starts_with("/run/swipr/") && !std::filesystem::exists("/run/swipr")) continue;
    state = examine(path, uid);
    if (state.usable && refused.empty()) return {Verdict::kFine, kSubject, state.path, ""};
    if (state.usable) {
      return {Verdict::kNote, kSubject, fmt::format("{}, because {}", state.path, refused), ""};
    }
    refused += fmt::format("{}{} {}", refused.empty() ? "" : ", ", state.path, state.reason);
    if (is_set || path.starts_with("/tmp/")) break;  // the library tries no other
  }
  return {Verdict::kFailed, kSubject, refused + ": programs refuse it and cannot be recorded",
          remedy_for(state.path, is_set)};
}

}  // namespace swipr::session
