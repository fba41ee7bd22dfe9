// What older C libraries lack: scripts/matrix builds targets in the roots of older releases.
#pragma once

#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#if !__GLIBC_PREREQ(2, 34)
inline void closefrom(int first) {
  for (int fd = first; fd < 4096; ++fd) close(fd);
}
#endif
