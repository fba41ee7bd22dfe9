// libc's own count of threads: the thread that brings it to zero calls exit(0). If the control
// thread were counted, a program whose threads have all ended would never exit.
#pragma once

#include "preload/agent/base/moment.h"

namespace swipr::agent::thread_count {

// Before the first control thread. In a glibc before 2.34 whose libpthread was stripped of its
// symbols, these functions do nothing.
void find() noexcept;

// Control thread: it is no longer counted. False: it is the only thread left; it has to end, and
// libc ends the process with it.
bool leave() noexcept;
// musl has a list of threads instead, in which the control thread stays. It has to look whether the
// program's threads have all ended, at this distance, and to end then: musl ends the process with
// it.  kNever: not necessary.
Moment watch_interval() noexcept;
bool is_last() noexcept;
// Before it ends by itself: libc counts every thread that ends.
void come_back() noexcept;

}  // namespace swipr::agent::thread_count
