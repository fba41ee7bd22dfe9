// Finds the caller of vfork while the child runs on the parent's stack. libc's vfork holds its
// return address in a register, which /proc does not show, and the memory below the stack pointer
// belongs to the child. The child is still in the function that called vfork (POSIX permits nothing
// else), and that function calls from the same stack pointer: the word below it is a return address
// into that function, of vfork or of the child's call.
// Source: glibc, sysdeps/unix/sysv/linux/x86_64/vfork.S.
// Context: control thread.
#pragma once

#include <cstdint>
#include <optional>

#include "preload/agent/proc/proc_memory.h"
#include "preload/unwind/table/code_map.h"

namespace swipr::agent {

// The address after the call of vfork; `below` is the word directly below the stack pointer and
// `pc` is in vfork. If the function has several such calls it is the last before the child's. If it
// has none, because compilers move code that ends in _exit to another part of the function, it is
// `below`, in that part. The tables of both have to be built. nullopt: `below` is not a return
// address. Bounds: 64 KiB of code.
std::optional<std::uint64_t> find_vfork_return(const ProcMemory& memory, const unwind::CodeMap& map,
                                               std::uint64_t pc, std::uint64_t below) noexcept;

}  // namespace swipr::agent
