// syscall(2) as the program calls it: hands on to libc's at once, but for the few calls that
// swipr has to know of. They go to swipr_watched_syscall.
#pragma once

using SyscallFunction = long(long, ...) noexcept;

extern "C" {
// libc's function; until it is known, the one below.
extern SyscallFunction* swipr_next_syscall;
// Makes the call itself.
long swipr_bare_syscall(long number, ...) noexcept;
long swipr_watched_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept;
}
