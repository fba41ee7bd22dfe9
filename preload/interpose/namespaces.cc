// unshare and setns: the kernel refuses some of their operations in a process with more than one
// thread. If the control thread is the only other one, it ends, with its recordings, before the
// call. Source: kernel, kernel/fork.c, check_unshare_flags; user_namespace.c, userns_install;
// fs/namespace.c, mntns_install; time/namespace.c, timens_install.
#include <sched.h>

#include <cerrno>

#include "common/core/errno_saver.h"
#include "preload/agent/control_thread.h"
#include "preload/interpose/next.h"

namespace {

using swipr::interpose::Next;

constinit Next<int(int)> next_unshare("unshare");
constinit Next<int(int, int)> next_setns("setns");

[[gnu::constructor]] void find_all() noexcept {
  next_unshare.find();
  next_setns.find();
}

// A refused call has changed nothing.
template <typename Call>
int call_alone_if_refused(Call call) noexcept {
  const int before = errno;
  const int result = call();
  if (result == 0 || (errno != EINVAL && errno != EUSERS)) return result;
  if (!swipr::agent::park_control_thread()) return result;
  errno = before;
  const int second = call();
  const swipr::ErrnoSaver errno_saver;
  swipr::agent::resume_control_thread();
  return second;
}

}  // namespace

SWIPR_EXPORTED int unshare(int flags) noexcept {
  return call_alone_if_refused([=] { return next_unshare(flags); });
}

SWIPR_EXPORTED int setns(int fd, int kind) noexcept {
  return call_alone_if_refused([=] { return next_setns(fd, kind); });
}
