#include "preload/agent/probes/permission.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/agent/base/own_image.h"
#include "preload/machine/raw_syscall.h"

namespace swipr::agent {

namespace {

using machine::raw_syscall;

constexpr std::size_t kTrialBytes = 4096;

long address_of(const void* memory) noexcept { return reinterpret_cast<long>(memory); }

// In the child. 0: all of them work.
long try_calls() noexcept {
  raw_syscall(SYS_prctl, PR_SET_DUMPABLE, 0);  // no core file, should the filter end it
  const long self = raw_syscall(SYS_getpid);
  long word = 0;
  iovec local{&word, sizeof word};
  iovec remote{&local, sizeof word};
  if (raw_syscall(SYS_process_vm_readv, self, address_of(&local), 1, address_of(&remote), 1, 0) < 0)
    return 1;
  if (raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0) != 0 ||
      raw_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0) != 0)
    return 1;
  if (raw_syscall(SYS_sched_getscheduler, 0) < 0) return 1;
  const long page = raw_syscall(SYS_mmap, 0, kTrialBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page < 0) return 1;
  return try_change(page, kTrialBytes) ? 0 : 2;
}

const char* try_in_child() noexcept {
  const long child = raw_syscall(SYS_clone, CLONE_UNTRACED);  // no exit signal
  if (child == 0) {
    const long result = try_calls();
    for (;;) raw_syscall(SYS_exit_group, result);
  }
  int status = 0;
  const long waited = raw_syscall(SYS_wait4, child, address_of(&status), __WCLONE);
  if (child < 0 || waited != child) return kNoCalls;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return nullptr;
  return WIFEXITED(status) && WEXITSTATUS(status) == 2 ? kNotWritable : kNoCalls;
}

std::uint64_t place_of(const void* function) noexcept {
  return reinterpret_cast<std::uint64_t>(function);
}

}  // namespace

const char* find_refusal_of_kernel() noexcept {
  if (has_shadow_stack()) return kShadowStack;
  return ::prctl(PR_GET_SECCOMP) == 0 ? nullptr : try_in_child();
}

bool is_own_image(std::uint64_t header) noexcept { return header == place_of(&__ehdr_start); }

std::span<const std::uint64_t> functions_of_handlers() noexcept {
  static std::uint64_t all[16];
  static std::size_t count = 0;
  if (count != 0) return {all, count};
  const auto add = [](auto* function) {
    all[count++] = place_of(reinterpret_cast<const void*>(function));
  };
  add(static_cast<void* (*)(void*, const void*, std::size_t)>(&::memcpy));
  add(static_cast<void* (*)(void*, const void*, std::size_t)>(&::memmove));
  add(static_cast<void* (*)(void*, int, std::size_t)>(&::memset));
  add(static_cast<int (*)(const void*, const void*, std::size_t)>(&::memcmp));
  add(&::strlen);
  add(&::getpid);
  add(&::getuid);
  add(&::sched_yield);
  add(&::sigemptyset);
  add(&::sigaddset);
  add(&::sigfillset);
  add(&::sigdelset);
  return {all, count};
}

}  // namespace swipr::agent
