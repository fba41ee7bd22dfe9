// _exit and _Exit end the process without running destructors: recordings are finished here.
// The library's own calls inside libc (exit, abort) do not come through; exit runs the destructor.
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/agent/control_thread.h"

extern "C" {

// Async-signal-safe, as _exit is; children of vfork pass straight through.
[[gnu::visibility("default")]] void _exit(int status) {
  swipr::agent::finish_before_exit();
  for (;;) ::syscall(SYS_exit_group, status);
}

[[gnu::visibility("default")]] void _Exit(int status) noexcept { _exit(status); }

}  // extern "C"
