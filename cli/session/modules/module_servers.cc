#include "cli/session/modules/module_servers.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <span>

#include "cli/session/http/connection.h"
#include "common/host/proc.h"

namespace swipr::session {

namespace {

using host::Error;
using host::Result;

constexpr std::chrono::seconds kModulePatience{20};
constexpr std::uint64_t kMaxModuleBytes = std::uint64_t{2} << 30;

bool is_socket(const Place& place) {
  struct stat info {};
  return ::lstat(place.path().c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

// Sockets in that directory of processes that have this id in their own PID namespace.
void add_namesakes(const std::string& directory, Pid pid, std::vector<Place>& places) {
  for (const std::string& entry : entries_of(directory)) {
    const auto name = parse_socket_name(entry);
    if (name && name->pid == pid.value) places.push_back({directory, entry});
  }
}

// Several paths can lead to one socket.
void keep_sockets_once(std::vector<Place>& places) {
  std::erase_if(places, [](const Place& place) { return !is_socket(place); });
  std::vector<Place> once;
  for (const Place& place : places) {
    if (std::find(once.begin(), once.end(), place) == once.end()) once.push_back(place);
  }
  places = std::move(once);
}

Result<void> write_piece(int out, std::span<const std::byte> bytes, std::uint64_t& rest) {
  if (bytes.size() > rest) return Error("the file is too large");
  rest -= bytes.size();
  while (!bytes.empty()) {
    const ssize_t count = ::write(out, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return host::system_error("cannot store a fetched module", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace

std::vector<Place>& ModuleServers::places_of(Pid pid) {
  const auto [entry, is_new] = places_.try_emplace(pid);
  std::vector<Place>& places = entry->second;
  if (!is_new) return places;
  if (const auto status = host::read_process_status(pid)) places = find_places(pid, *status);
  for (const std::string& directory : find_socket_directories()) {
    add_namesakes(directory, pid, places);
  }
  keep_sockets_once(places);
  return places;
}

Result<void> ModuleServers::fetch(Pid pid, std::string_view build_id, int out) {
  std::vector<Place>& places = places_of(pid);
  for (std::size_t index = 0; index < places.size();) {
    const ConnectOutcome outcome = connect_in(places[index].directory, places[index].name);
    std::uint64_t rest = kMaxModuleBytes;
    const auto status = outcome.fd
                            ? fetch_into(outcome.fd.value(),
                                         fmt::format("/v1/modules/{}", build_id), kModulePatience,
                                         [out, &rest](std::span<const std::byte> bytes) {
                                           return write_piece(out, bytes, rest);
                                         })
                            : Result<int>(host::system_error("no connection", outcome.error));
    if (status && *status == 200) return {};
    if (status) {
      ++index;  // the process runs but has other modules
      continue;
    }
    // A process that did not answer once is not asked again.
    places.erase(places.begin() + static_cast<std::ptrdiff_t>(index));
    if (rest != kMaxModuleBytes) return status.error();
  }
  return Error("no process serves it");
}

}  // namespace swipr::session
