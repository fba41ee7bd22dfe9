// The program's syscall(2): passes calls on to libc's function, except the few that swipr has to
// know about, which go to swipr_watched_syscall.
#pragma once

using SyscallFunction = long(long, ...) noexcept;

extern "C" {
// libc's function; until it is found, the one below.
extern SyscallFunction* swipr_next_syscall;
// Makes the call itself.
long swipr_bare_syscall(long number, ...) noexcept;
long swipr_watched_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept;
}
