// The thread pointer of another thread of the process: where its thread-local variables are.
// Context: control thread.  Allocates: never.
#pragma once

#include <cstdint>

#include "common/core/ids.h"
#include "preload/agent/proc/proc_memory.h"

namespace swipr::agent {

// 0: unknown, because the thread is gone, or libc is not glibc. Three system calls and two reads.
// Source: glibc keeps each thread's list of robust mutexes, which the kernel tells, in its struct
// pthread (nptl/descr.h, robust_head). The thread pointer points to that, or behind it where the
// ABI has thread-local variables above it: the distance is the calling thread's. The tid is in the
// two words before the list, which proves that it is libc's list and that thread's.
std::uint64_t find_thread_pointer(Tid tid, ProcMemory& memory) noexcept;

}  // namespace swipr::agent
