// _exit and _Exit end the process without running destructors: recordings are finished here. Calls
// within libc (exit, abort) do not reach these wrappers; exit runs the destructor, quick_exit the
// functions that are registered for it.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "preload/agent/base/libc_calls.h"
#include "preload/agent/control_thread.h"
#include "preload/agent/guest/libc_family.h"
#include "preload/interpose/next.h"

namespace {

constinit swipr::interpose::Next<void(int)> next_exit{"_exit"};

[[gnu::constructor]] void join_exits() {
  swipr::agent::call_at_quick_exit(swipr::agent::finish_before_exit);
  next_exit.find();
}

int lead_streams_nowhere() noexcept {
  constexpr dev_t kNull = 1 << 8 | 3;  // major and minor number; makedev may call what musl lacks
  const int fd = ::open("/dev/null", O_RDWR);
  struct stat status {};
  if (fd < 0 || swipr::libc::fstat(fd, &status) != 0) return -1;
  if (!S_ISCHR(status.st_mode) || status.st_rdev != kNull) {
    ::close(fd);
    errno = ENODEV;
    return -1;
  }
  for (int stream = 0; stream <= 2; ++stream) ::dup2(fd, stream);
  if (fd > 2) ::close(fd);
  return 0;
}

}  // namespace

extern "C" {

// Async-signal-safe, as _exit is; children of vfork are not delayed.
[[gnu::visibility("default")]] void _exit(int status) {
  swipr::agent::finish_before_exit();
  if (const auto next = next_exit.find_once(); next != nullptr) next(status);
  for (;;) ::syscall(SYS_exit_group, status);
}

[[gnu::visibility("default")]] void _Exit(int status) noexcept { _exit(status); }

// libc's own function ends the parent without calling this wrapper.
[[gnu::visibility("default")]] int daemon(int keep_directory, int keep_streams) noexcept {
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child > 0) _exit(0);
  if (::setsid() < 0) return -1;
  if (keep_directory == 0 && ::chdir("/") != 0) {
    // As libc does: the working directory is not changed.
  }
  return keep_streams != 0 ? 0 : lead_streams_nowhere();
}

}  // extern "C"
