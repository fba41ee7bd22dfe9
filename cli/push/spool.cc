#include "cli/push/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>

#include "cli/push/requests/messages.h"
#include "common/host/proc.h"
#include "common/host/unique_fd.h"

namespace swipr::push {

namespace {

using host::Error;
using host::Result;
using std::chrono::nanoseconds;

constexpr std::string_view kWaiting = ".push";
constexpr std::string_view kSending = ".sending";
constexpr std::string_view kIncomplete = ".new";
constexpr std::size_t kMaxFileBytes = kMostBodyBytes + (std::size_t{1} << 20);

void make_folders(const std::string& folder) {
  for (std::size_t end = folder.find('/', 1); end != std::string::npos;
       end = folder.find('/', end + 1)) {
    ::mkdir(folder.substr(0, end).c_str(), 0700);
  }
  ::mkdir(folder.c_str(), 0700);
}

std::vector<std::string> names_in(const std::string& folder, std::string_view suffix) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), ::closedir);
  if (!directory) return names;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (std::string_view(entry->d_name).ends_with(suffix)) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::uint64_t size_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

Result<void> write_file(const std::string& path, std::string_view text) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const host::UniqueFd file(::open(path.c_str(), kFlags, 0600));
  if (!file) return host::system_error(fmt::format("cannot write {}", path), errno);
  while (!text.empty()) {
    const ssize_t count = ::write(file.value(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      ::unlink(path.c_str());
      return host::system_error(fmt::format("cannot write {}", path), error);
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

// Oldest first.
std::vector<Spool::Entry> entries_of(const std::string& folder, std::string_view suffix) {
  std::vector<Spool::Entry> entries;
  for (std::string& name : names_in(folder, suffix)) {
    std::int64_t begin = 0;
    std::from_chars(name.data(), name.data() + std::min(name.find('-'), name.size()), begin);
    const std::uint64_t size = size_of(fmt::format("{}/{}", folder, name));
    entries.push_back({std::move(name), nanoseconds(begin), size});
  }
  return entries;
}

std::uint64_t sum_of_bytes(const std::vector<Spool::Entry>& entries) {
  std::uint64_t sum = 0;
  for (const Spool::Entry& entry : entries) sum += entry.bytes;
  return sum;
}

std::string sending_name(const std::string& name) {
  return name.substr(0, name.size() - kWaiting.size()).append(kSending);
}

}  // namespace

Result<Spool> Spool::open(const std::string& folder, std::uint64_t max_bytes) {
  make_folders(folder);
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0 || ::access(folder.c_str(), W_OK | X_OK) != 0) {
    return host::system_error(fmt::format("cannot write to {}", folder), errno);
  }
  if (info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
    return Error(fmt::format("{}: others can write to it; a private folder is required", folder));
  }
  return Spool(folder, max_bytes);
}

std::size_t Spool::remove_interrupted() {
  for (const std::string& name : names_in(folder_, kIncomplete)) ::unlink(path(name).c_str());
  const auto names = names_in(folder_, kSending);
  for (const std::string& name : names) ::unlink(path(name).c_str());
  return names.size();
}

Result<void> Spool::add(nanoseconds begin, const Request& request) {
  const std::string text = format_request(request) + "\n" + request.body;
  const std::string name =
      fmt::format("{:020}-{}-{:05}{}", begin.count(), ::getpid(), added_++, kWaiting);
  const std::string incomplete = path(name) + std::string(kIncomplete);
  auto added = make_room(text.size());
  if (added) added = write_file(incomplete, text);
  if (added && ::rename(incomplete.c_str(), path(name).c_str()) != 0) {
    added = host::system_error(fmt::format("cannot write {}", path(name)), errno);
  }
  if (!added) ++dropped_;
  return added;
}

// Drops the oldest requests that wait.
Result<void> Spool::make_room(std::uint64_t wanted) {
  if (wanted > max_bytes_) return Error("a profile is larger than the spool");
  const std::vector<Entry> entries = waiting();
  const std::uint64_t sending = sum_of_bytes(entries_of(folder_, kSending));
  if (sending + wanted > max_bytes_) {
    return Error("the spool has no room beside the profiles that are being sent");
  }
  std::uint64_t bytes = sending + sum_of_bytes(entries);
  for (const Entry& entry : entries) {
    if (bytes + wanted <= max_bytes_) break;
    if (::unlink(path(entry.name).c_str()) != 0) continue;  // it is being sent now
    bytes -= entry.bytes;
    ++dropped_;
  }
  return {};
}

std::vector<Spool::Entry> Spool::waiting() const { return entries_of(folder_, kWaiting); }

std::uint64_t Spool::bytes() const {
  return sum_of_bytes(waiting()) + sum_of_bytes(entries_of(folder_, kSending));
}

Result<Request> Spool::claim(const std::string& name) {
  const std::string sending = path(sending_name(name));
  if (::rename(path(name).c_str(), sending.c_str()) != 0) {
    return host::system_error(fmt::format("{} is gone", path(name)), errno);
  }
  auto text = host::read_file(sending, kMaxFileBytes);
  if (!text) return text.error();
  const std::size_t end = std::min(text->find('\n'), text->size());
  auto announced = parse_request(std::string_view(*text).substr(0, end));
  if (!announced || text->size() != end + 1 + announced->body_bytes) {
    ::unlink(sending.c_str());
    return Error(fmt::format("{} is damaged", path(name)));
  }
  announced->request.body = text->substr(end + 1);
  return std::move(announced->request);
}

void Spool::release(const std::string& name) {
  ::rename(path(sending_name(name)).c_str(), path(name).c_str());
}

bool Spool::remove(const std::string& name) {
  return ::unlink(path(sending_name(name)).c_str()) == 0 || ::unlink(path(name).c_str()) == 0;
}

}  // namespace swipr::push
