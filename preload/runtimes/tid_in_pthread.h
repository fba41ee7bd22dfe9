// Where libc keeps the tid of a thread.
#pragma once

#include <cstdint>

namespace swipr::runtimes {

// Offset of the tid in libc's descriptor of a thread, to which a pthread_t points: the only place
// in its first 1 KiB with the number of the calling thread. 0: not found.
// Context: any thread, but no handler (all functions).  Allocates: never.
// Source: glibc, nptl/descr.h (struct pthread); it changes between versions and machines.
std::uint32_t find_tid_in_pthread() noexcept;

// From the thread pointer to a pthread_t, modulo 2^64. 0 on x86-64; on aarch64 thread-local
// variables begin at the thread pointer, and the descriptor lies below it.
std::uint64_t find_pthread_offset() noexcept;

}  // namespace swipr::runtimes
