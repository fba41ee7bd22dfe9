#include "preload/agent/proc/proc_directory.h"

#include <fcntl.h>
#include <unistd.h>

namespace swipr::agent {

namespace {

constexpr std::string_view kProc = "/proc/";
int directory = -1;

struct Place {
  int directory;
  const char* path;
};

Place place_of(const char* path) noexcept {
  if (directory < 0 || !std::string_view(path).starts_with(kProc)) return {AT_FDCWD, path};
  return {directory, path + kProc.size()};
}

}  // namespace

void open_proc_directory() noexcept {
  directory = ::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void forget_proc_directory() noexcept { directory = -1; }

int open_below_proc(const char* path, int flags) noexcept {
  const Place place = place_of(path);
  return ::openat(place.directory, place.path, flags | O_CLOEXEC);
}

std::string_view read_link_below_proc(const char* path, std::span<char> buffer) noexcept {
  const Place place = place_of(path);
  const ssize_t size = ::readlinkat(place.directory, place.path, buffer.data(), buffer.size());
  return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

}  // namespace swipr::agent
