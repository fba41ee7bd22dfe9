// Numbers of system calls that only older architectures have. Elsewhere the C library makes others
// in their place, and these are numbers that no call has.
// Context: anywhere.
#pragma once

#include <sys/syscall.h>

namespace swipr::machine {

#if defined(__x86_64__)
inline constexpr long kPoll = SYS_poll, kSelect = SYS_select, kEpollWait = SYS_epoll_wait,
                      kPause = SYS_pause, kVfork = SYS_vfork;
#else
inline constexpr long kPoll = -101, kSelect = -102, kEpollWait = -103, kPause = -104, kVfork = -105;
#endif

}  // namespace swipr::machine
