// The caller of vfork while the child runs on the parent's stack. libc's vfork keeps its return
// address in a register, which /proc does not show, and what was below the stack pointer belongs to
// the child. The child is still in the function that called vfork (POSIX lets it do nothing else),
// and that function calls from the same stack pointer: the word below it is a return address of
// that function, vfork's own or that of the child's call.
// Source: glibc, sysdeps/unix/sysv/linux/x86_64/vfork.S.
// Context: control thread.
#pragma once

#include <cstdint>
#include <optional>

#include "preload/agent/proc/proc_memory.h"
#include "preload/unwind/table/code_map.h"

namespace swipr::agent {

// The address behind the call of vfork, where `below` is what lies right below the stack pointer
// and `pc` is in vfork. Where the function has several such calls it is the last before the
// child's. Where it has none, as compilers put what ends in _exit elsewhere, it is `below`: in a
// part of that function. The tables of both have to be built. nullopt: `below` is no return
// address. Bounds: 64 KiB of code.
std::optional<std::uint64_t> find_vfork_return(const ProcMemory& memory, const unwind::CodeMap& map,
                                               std::uint64_t pc, std::uint64_t below) noexcept;

}  // namespace swipr::agent
