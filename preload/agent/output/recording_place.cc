#include "preload/agent/output/recording_place.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "preload/agent/base/libc_calls.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/agent/proc/proc_text.h"

namespace swipr::agent {

namespace {

constexpr std::string_view kPid = "{PID}";
constexpr std::string_view kSuffix = ".swipr";
constexpr unsigned kMaxImages = 1000;  // that one process records into one folder
// Process start times have a resolution of 10 ms and are rounded down.
constexpr std::uint64_t kStartPrecisionNs = 10'000'000;

void expand_pid(std::string_view pattern, pid_t pid, TextWriter& out) noexcept {
  for (;;) {
    const std::size_t at = pattern.find(kPid);
    out.append(leading(pattern, at));
    if (at == std::string_view::npos) return;
    out.append_number(static_cast<std::uint64_t>(pid));
    pattern = skip(pattern, at + kPid.size());
  }
}

bool is_folder(const TextWriter& path) noexcept {
  struct stat status {};
  if (path.view().ends_with('/')) return true;
  return libc::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

void append_program(TextWriter& out) noexcept {
  PathText executable;
  const ssize_t length =
      ::readlink("/proc/self/exe", executable.free_space().data(), executable.free_space().size());
  if (length > 0) executable.grow(static_cast<std::size_t>(length));
  const std::string_view name = skip(executable.view(), executable.view().rfind('/') + 1);
  out.append(name.empty() ? std::string_view("program") : name);
}

// Another user can put a name into the folder. Folders that groups of root can write to count, too,
// because any user may be a member.
bool is_shared(int folder) noexcept {
  struct stat status {};
  if (libc::fstat(folder, &status) != 0) return true;
  const bool is_root = ::geteuid() == 0;
  const mode_t others = is_root ? S_IWGRP | S_IWOTH : S_IWOTH;
  const bool is_trusted = status.st_uid == ::geteuid() || status.st_uid == 0;
  return !is_trusted || (status.st_mode & others) != 0;
}

int open_folder_of(std::string_view path) noexcept {
  const std::size_t name = path.rfind('/') + 1;  // npos + 1: none
  const PathText folder(name == 0 ? std::string_view(".") : leading(path, name));
  return ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

// In a shared folder, a file that another user made or linked to would be overwritten in our name.
int open_in(int folder, std::string_view path, int flags) noexcept {
  const PathText name(skip(path, path.rfind('/') + 1));
  const bool shared = is_shared(folder);
  // Non-blocking: a FIFO without a reader would block the start of the program.
  flags |= O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (shared ? O_NOFOLLOW : 0);
  const int fd = ::openat(folder, name.c_str(), flags, 0666);
  if (fd < 0 || !shared) return fd;
  struct stat status {};
  if (libc::fstat(fd, &status) == 0 && status.st_nlink <= 1 &&
      (status.st_uid == ::geteuid() || status.st_uid == 0)) {
    return fd;
  }
  ::close(fd);
  errno = ELOOP;
  return -1;
}

// The lock belongs to the open file, so it is held while the control thread has the file open.
bool lock_regular_file(int fd) noexcept {
  struct stat status {};
  if (libc::fstat(fd, &status) != 0) return false;
  if (!S_ISREG(status.st_mode)) {
    errno = EINVAL;
    return false;
  }
  return ::flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void close_keeping_errno(int fd) noexcept {
  const int error = errno;
  ::close(fd);
  errno = error;
}

int open_and_lock(std::string_view path, int flags) noexcept {
  const int folder = open_folder_of(path);
  if (folder < 0) return -1;
  const int fd = open_in(folder, path, flags);
  close_keeping_errno(folder);
  if (fd < 0) {
    if (errno == ENXIO) errno = EINVAL;  // a FIFO without a reader, a socket
    return -1;
  }
  if (lock_regular_file(fd)) return fd;
  close_keeping_errno(fd);
  return -1;
}

bool is_of_our_time(int fd) noexcept {
  struct stat status {};
  if (libc::fstat(fd, &status) != 0 || status.st_size == 0) return false;
  const std::uint64_t start_ns = read_process_status().start_time_ns;
  const std::uint64_t written_ns =
      static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000u +
      static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
  return start_ns != 0 && written_ns >= start_ns + kStartPrecisionNs;
}

// EEXIST: it holds a recording of another process, which must not be lost.
int open_shared_name(std::string_view path) noexcept {
  const int fd = open_and_lock(path, 0);
  if (fd < 0) {
    if (errno == EWOULDBLOCK) errno = EEXIST;
    return -1;
  }
  if (!is_of_our_time(fd) && ::ftruncate(fd, 0) == 0) return fd;
  ::close(fd);
  errno = EEXIST;
  return -1;
}

int open_own_name(std::string_view stem, TextWriter& path) noexcept {
  for (unsigned image = 1; image <= kMaxImages; ++image) {
    path.clear();
    path.append(stem);
    if (image > 1) path.append('.').append_number(image);
    path.append(kSuffix);
    if (path.overflowed()) break;
    const int fd = open_and_lock(path.view(), O_EXCL);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  errno = path.overflowed() ? ENAMETOOLONG : EEXIST;
  return -1;
}

}  // namespace

int open_recording_file(std::string_view pattern, pid_t pid, TextWriter& path) noexcept {
  path.clear();
  expand_pid(pattern, pid, path);
  if (path.overflowed()) {
    errno = ENAMETOOLONG;
    return -1;
  }
  const bool in_folder = is_folder(path);
  const bool named_by_pid = !in_folder && pattern.find(kPid) != std::string_view::npos;
  if (!in_folder && !named_by_pid) {
    const int fd = open_shared_name(path.view());
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  std::string_view name = path.view();
  if (!in_folder && name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  PathText stem(name);
  if (in_folder) append_program(stem.append('/'));
  if (!named_by_pid) stem.append('-').append_number(static_cast<std::uint64_t>(pid));
  return open_own_name(stem.view(), path);
}

}  // namespace swipr::agent
