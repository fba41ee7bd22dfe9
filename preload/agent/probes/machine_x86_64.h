#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstdint>

#include "preload/machine/raw_syscall.h"

namespace swipr::agent {

inline constexpr const char* kNotWritable =
    "the kernel refuses to make code writable (MemoryDenyWriteExecute, SELinux, a seccomp filter)";
inline constexpr const char* kNoCalls =
    "the kernel or a seccomp filter refuses system calls that tracing needs (membarrier, "
    "process_vm_readv)";

// RDSSPQ does nothing where there is none. Source: Intel SDM volume 1, chapter 17.
inline bool has_shadow_stack() noexcept {
  std::uint64_t pointer = 0;
  __asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(pointer));
  return pointer != 0;
}
inline constexpr const char* kShadowStack = "the process has a shadow stack (CET)";

// The page is made executable, as code is when it is changed.
inline bool try_change(long page, long bytes) noexcept {
  constexpr long kAll = PROT_READ | PROT_WRITE | PROT_EXEC;
  return machine::raw_syscall(SYS_mprotect, page, bytes, kAll) == 0 &&
         machine::raw_syscall(SYS_mprotect, page, bytes, PROT_READ | PROT_EXEC) == 0;
}

}  // namespace swipr::agent
