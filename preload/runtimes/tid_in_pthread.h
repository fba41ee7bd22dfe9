// Where libc keeps the tid of a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace swipr::runtimes {

// Offset of the tid in libc's descriptor of a thread, to which a pthread_t points: the first place
// in its first 1 KiB with the number of the calling thread. 0: not found.
// Context: any thread, but no handler (all functions).  Allocates: never.
// Source: glibc, nptl/descr.h; musl, src/internal/pthread_impl.h (struct pthread). The offset
// depends on version and machine.
std::uint32_t find_tid_in_pthread() noexcept;

// Part, for tests. In both libraries the tid is aligned as pointers are, and behind pointers,
// random numbers and a flag. The upper half of a pointer may have its value: 32,767 is that of
// 0x7fff'….
std::uint32_t find_tid(std::span<const std::byte> descriptor, std::int32_t tid) noexcept;

// From the thread pointer to a pthread_t, modulo 2^64. 0 on x86-64; on aarch64 thread-local
// variables begin at the thread pointer, and the descriptor lies below it.
std::uint64_t find_pthread_offset() noexcept;

}  // namespace swipr::runtimes
