#include "preload/agent/guest/own_descriptors.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "preload/agent/base/log.h"
#include "preload/agent/proc/directory_names.h"
#include "preload/agent/proc/proc_directory.h"
#include "preload/machine/raw_syscall.h"

namespace swipr::agent {

namespace {

constexpr unsigned kCloseRangeUnshare = 2;  // not in the headers of older libcs

// Before Linux 5.9. Closing while reading the directory can hide entries, so repeat until none is
// left.
bool close_some_listed(int directory) noexcept {
  bool closed = false;
  for_each_name<4096>(directory, [&](const char* name) noexcept {
    int fd = -1;
    std::from_chars(name, name + std::strlen(name), fd);
    if (fd >= 3 && fd != directory && ::close(fd) == 0) closed = true;
    return true;
  });
  return closed;
}

bool unshare_and_close() noexcept {
  // Not through libc's function, which is wrapped for the program's own calls.
  if (machine::raw_syscall(SYS_unshare, CLONE_FILES) != 0) return false;
  const int directory = ::open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return true;  // no /proc: they stay open, in this thread only
  while (close_some_listed(directory)) {
  }
  ::close(directory);
  return true;
}

}  // namespace

bool take_own_descriptors() noexcept {
  // A root directory of its own: after a chroot by the program, sockets and /proc are still
  // reachable. It also permits the program to enter a mount namespace, which the kernel refuses
  // while another thread shares its root. Refused in most containers.
  machine::raw_syscall(SYS_unshare, CLONE_FS);
  const bool own = ::syscall(SYS_close_range, 3u, ~0u, kCloseRangeUnshare) == 0;
  if (!own && !unshare_and_close()) return false;
  open_log();
  // The program's pipes must not stay open here when it closes them. These numbers must be in use,
  // or a socket would get them.
  int placeholder = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (placeholder < 0) placeholder = ::eventfd(0, EFD_CLOEXEC);
  for (int fd = 0; fd <= 2; ++fd) {
    if (placeholder != fd) ::dup3(placeholder, fd, O_CLOEXEC);
  }
  if (placeholder > 2) ::close(placeholder);
  open_proc_directory();
  return true;
}

}  // namespace swipr::agent
