// Whether this process, its kernel and its processor permit that functions are traced.
// Context: control thread.
#pragma once

#include <cstdint>
#include <span>

#include "preload/agent/probes/machine.h"

namespace swipr::agent {

// nullptr: none. Below a seccomp filter, which may end the process for a system call, a child makes
// the calls first: its copy of the memory is not used otherwise, and no wait() of the program finds
// it. Blocks: as a fork.
const char* find_refusal_of_kernel() noexcept;

// The image with this ELF header is swipr's library.
bool is_own_image(std::uint64_t header) noexcept;

// Addresses of the functions of libc that swipr's handlers call (signal_safe_calls.txt).
std::span<const std::uint64_t> functions_of_handlers() noexcept;

}  // namespace swipr::agent
