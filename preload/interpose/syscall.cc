// What the assembly of all architectures calls.
#include "preload/interpose/syscall.h"

#include <cerrno>

extern "C" {

[[gnu::visibility("hidden")]] constinit SyscallFunction* swipr_next_syscall = &swipr_bare_syscall;

[[gnu::visibility("hidden"), gnu::used]] long swipr_set_errno(long error) noexcept {
  errno = static_cast<int>(error);
  return -1;
}

}  // extern "C"
