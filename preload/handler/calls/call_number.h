// Which system call a thread has made: the kernel does not tell a signal handler. x86-64 only.
#pragma once

#include <sys/ucontext.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"

namespace swipr::handler {

// Read from the code before the return address: the instruction that sets eax, directly before
// `syscall` or with one or two known instructions between. -1: not recognised.
inline constexpr std::size_t kCodeBytes = 48;
SWIPR_SIGNAL_SAFE std::int32_t decode_call_number(
    std::span<const std::uint8_t, kCodeBytes> code) noexcept;

// As decode_call_number, and from the stack, where glibc since 2.41 has the number, or a register
// that functions keep, where musl has it. False: there is no `syscall` before the return address.
// -1 in `number`: not recognised. `registers`: of the calling thread directly after its `syscall`.
// Also runs on the program's alternate stacks, which may have next to no room.
SWIPR_SIGNAL_SAFE bool read_call_number(const gregset_t& registers, std::int32_t& number) noexcept;

}  // namespace swipr::handler
