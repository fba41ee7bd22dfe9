#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstdint>

#include "preload/machine/raw_syscall.h"

namespace swipr::agent {

inline constexpr const char* kNotWritable =
    "the kernel refuses to make changed code executable (MemoryDenyWriteExecute, SELinux, a "
    "seccomp "
    "filter), or the file of the code was replaced or deleted";
inline constexpr const char* kNoCalls =
    "the kernel or a seccomp filter refuses system calls that tracing needs (membarrier, "
    "process_vm_readv)";

// Source: kernel, include/uapi/linux/prctl.h: PR_GET_SHADOW_STACK_STATUS, PR_SHADOW_STACK_ENABLE.
inline bool has_shadow_stack() noexcept {
  constexpr long kGetStatus = 74;
  std::uint64_t status = 0;
  const long result = machine::raw_syscall(SYS_prctl, kGetStatus, reinterpret_cast<long>(&status));
  return result == 0 && (status & 1) != 0;
}
inline constexpr const char* kShadowStack = "the process has a shadow stack (GCS)";

// The page is made executable and moved over another one, as code is when it is changed.
inline bool try_change(long page, long bytes) noexcept {
  const long target = machine::raw_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_EXEC,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return machine::raw_syscall(SYS_mprotect, page, bytes, PROT_READ | PROT_EXEC) == 0 &&
         machine::raw_syscall(SYS_mremap, page, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                              target) == target;
}

}  // namespace swipr::agent
