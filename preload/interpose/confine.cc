// seccomp: if a program permits only the system calls that it uses, a call of swipr would kill it.
// Therefore swipr stops before: the control thread, to which such a filter may apply as well, the
// signals, and the work at exit. libc has no wrapper for seccomp(2): programs use syscall.
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/core/errno_saver.h"
#include "preload/agent/base/libc_calls.h"
#include "preload/agent/control_thread.h"
#include "preload/interpose/next.h"
#include "preload/interpose/replace_image.h"
#include "preload/interpose/syscall.h"

extern "C" int capset(cap_user_header_t header, cap_user_data_t data) noexcept;

namespace {

using swipr::interpose::Next;
using swipr::interpose::replace_image;

constinit Next<int(int, long, long, long, long)> next_prctl("prctl");

[[gnu::constructor]] void find_all() noexcept {
  next_prctl.find();
  swipr_next_syscall = reinterpret_cast<SyscallFunction*>(swipr::libc::dlsym(RTLD_NEXT, "syscall"));
  if (swipr_next_syscall == nullptr) swipr_next_syscall = &swipr_bare_syscall;
}

// Without a filter the call only asks whether the kernel supports filters.
bool confines_by_prctl(long option, long mode, long filter) noexcept {
  return option == PR_SET_SECCOMP && (mode == SECCOMP_MODE_STRICT || filter != 0);
}

bool confines_by_seccomp(long operation, long filter) noexcept {
  return operation == SECCOMP_SET_MODE_STRICT ||
         (operation == SECCOMP_SET_MODE_FILTER && filter != 0);
}

template <typename Call>
long confine(Call call) noexcept {
  const bool ended = swipr::agent::end_control_thread();
  const long result = call();
  // A result above 0 is a thread to which the filter could not be applied.
  if (result == 0 || !ended) return result;
  const swipr::ErrnoSaver errno_saver;
  swipr::agent::resume_control_thread();
  return result;
}

template <typename Call>
long change_rights(Call call, const swipr::agent::follow_gate::SystemCall& made) noexcept {
  const long result = call();
  if (result == 0) swipr::agent::follow_change_of_rights(made);
  return result;
}

}  // namespace

SWIPR_EXPORTED int prctl(int option, ...) noexcept {
  va_list rest;
  va_start(rest, option);
  const long a = va_arg(rest, long);
  const long b = va_arg(rest, long);
  const long c = va_arg(rest, long);
  const long d = va_arg(rest, long);
  va_end(rest);
  if (!confines_by_prctl(option, a, b)) return next_prctl(option, a, b, c, d);
  return static_cast<int>(confine([=] { return next_prctl(option, a, b, c, d); }));
}

long swipr_watched_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  const auto call = [=] { return swipr_next_syscall(number, a, b, c, d, e, f); };
  switch (number) {
    case SYS_execve:
    case SYS_execveat:
      return replace_image(call);
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_setgroups:
      return change_rights(call, {number, {a, b, c}});
    case SYS_capset:
      return ::capset(reinterpret_cast<cap_user_header_t>(a), reinterpret_cast<cap_user_data_t>(b));
    case SYS_unshare:
      return ::unshare(static_cast<int>(a));
    case SYS_setns:
      return ::setns(static_cast<int>(a), static_cast<int>(b));
    case SYS_prctl:
      return confines_by_prctl(a, b, c) ? confine(call) : call();
    case SYS_seccomp:
      return confines_by_seccomp(a, c) ? confine(call) : call();
    default:
      return call();
  }
}
