// setuid and similar functions: libc makes every thread execute the call, and ends the process if
// the results differ. Capabilities belong to single threads, so a single-threaded program may
// change its own between two such calls (setpriv, capsh). In the control thread, which has the old
// capabilities, the call would then fail. In that case the control thread and its recordings end
// before the call, and the next control thread inherits the caller's capabilities. Source: glibc,
// nptl/nptl_setxid.c; capabilities(7), "Effect of user ID changes on capabilities".
#include <grp.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/core/errno_saver.h"
#include "preload/agent/control_thread.h"
#include "preload/interpose/next.h"

namespace {

using swipr::interpose::Next;

constinit Next<int(uid_t)> next_setuid("setuid");
constinit Next<int(uid_t)> next_seteuid("seteuid");
constinit Next<int(uid_t, uid_t)> next_setreuid("setreuid");
constinit Next<int(uid_t, uid_t, uid_t)> next_setresuid("setresuid");
constinit Next<int(gid_t)> next_setgid("setgid");
constinit Next<int(gid_t)> next_setegid("setegid");
constinit Next<int(gid_t, gid_t)> next_setregid("setregid");
constinit Next<int(gid_t, gid_t, gid_t)> next_setresgid("setresgid");
constinit Next<int(std::size_t, const gid_t*)> next_setgroups("setgroups");
constinit Next<int(const char*, gid_t)> next_initgroups("initgroups");
constinit Next<int(cap_user_header_t, cap_user_data_t)> next_capset("capset");

[[gnu::constructor]] void find_all() noexcept {
  next_setuid.find();
  next_seteuid.find();
  next_setreuid.find();
  next_setresuid.find();
  next_setgid.find();
  next_setegid.find();
  next_setregid.find();
  next_setresgid.find();
  next_setgroups.find();
  next_initgroups.find();
  next_capset.find();
}

template <typename Next, typename... Arguments>
int change_identity(Next& next, Arguments... arguments) noexcept {
  const bool parked = swipr::agent::park_control_thread_of_other_rights();
  const int result = next(arguments...);
  if (parked) {
    const swipr::ErrnoSaver errno_saver;
    swipr::agent::resume_control_thread();
  }
  return result;
}

}  // namespace

SWIPR_EXPORTED int setuid(uid_t id) noexcept { return change_identity(next_setuid, id); }
SWIPR_EXPORTED int seteuid(uid_t id) noexcept { return change_identity(next_seteuid, id); }
SWIPR_EXPORTED int setgid(gid_t id) noexcept { return change_identity(next_setgid, id); }
SWIPR_EXPORTED int setegid(gid_t id) noexcept { return change_identity(next_setegid, id); }

SWIPR_EXPORTED int setreuid(uid_t real, uid_t effective) noexcept {
  return change_identity(next_setreuid, real, effective);
}

SWIPR_EXPORTED int setregid(gid_t real, gid_t effective) noexcept {
  return change_identity(next_setregid, real, effective);
}

SWIPR_EXPORTED int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  return change_identity(next_setresuid, real, effective, saved);
}

SWIPR_EXPORTED int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  return change_identity(next_setresgid, real, effective, saved);
}

SWIPR_EXPORTED int setgroups(std::size_t count, const gid_t* groups) noexcept {
  return change_identity(next_setgroups, count, groups);
}

// libc's own function calls setgroups without calling this wrapper.
SWIPR_EXPORTED int initgroups(const char* user, gid_t group) {
  return change_identity(next_initgroups, user, group);
}

// Changes only this thread, also in libc: the control thread has to be told, or it would keep what
// a single-threaded program drops.
SWIPR_EXPORTED int capset(cap_user_header_t header, cap_user_data_t data) noexcept {
  const int result = next_capset(header, data);
  if (result != 0) return result;
  __user_cap_header_struct own{.version = header->version, .pid = 0};
  const auto address = [](const void* object) { return reinterpret_cast<long>(object); };
  swipr::agent::follow_change_of_rights({SYS_capset, {address(&own), address(data), 0}});
  return result;
}
