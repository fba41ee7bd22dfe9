// Where libc keeps the tid of a thread.
#pragma once

#include <cstdint>

namespace swipr::runtimes {

// Offset of the tid in libc's descriptor of a thread, to which the thread pointer and a pthread_t
// point: the only place in its first 1 KiB with the number of the calling thread. 0: not found.
// Context: any thread, but no handler.  Allocates: never.
// Source: glibc, nptl/descr.h (struct pthread); it changes between versions and machines.
std::uint32_t find_tid_in_pthread() noexcept;

}  // namespace swipr::runtimes
