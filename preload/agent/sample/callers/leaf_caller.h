// Finds the caller of a blocked thread's innermost function where calls leave the return address in
// a register (aarch64). libc's functions that make a system call and call nothing do not store it,
// and /proc does not show it. But their caller has stored its own in its frame, which begins where
// the leaf's ends. The call before that address leads to the leaf's caller, and the code of that
// one has a call of the leaf. It is accepted if its CFI has its return address at that place, and
// if no other word passes.
// Source: AAPCS64, section 6.4.6, which does not say where in the frame the return address is.
// Context: control thread.
#pragma once

#include <array>
#include <cstdint>

#include "preload/agent/proc/proc_memory.h"
#include "preload/unwind/table/code_map.h"

namespace swipr::agent {

// Functions that may have called a leaf: those whose calls return to words of the stack above it.
struct LeafCallers {
  struct Word {
    std::uint64_t place = 0;
    std::uint64_t function = 0;  // that the call before the word's address leads to
  };
  std::uint64_t leaf = 0;
  std::uint64_t stack = 0;  // stack pointer of its caller
  std::uint32_t count = 0;
  std::array<Word, 96> words{};
};
// `pc` and `sp` of the thread. None: the function at `pc`, whose table has to be built, stores its
// return address. Bounds: 768 bytes of stack.
LeafCallers propose_leaf_callers(const ProcMemory& memory, const unwind::CodeMap& map,
                                 std::uint64_t pc, std::uint64_t sp) noexcept;

struct LeafCall {
  std::uint64_t behind = 0;       // the address after the call; 0: it is not known
  std::uint64_t behind_jump = 0;  // of the function that jumped to the one with the call; 0: none
};
// The first call of the leaf, or of a small function that ends in a jump to it (clone), in the only
// function that passes, or in one that it ends in a jump to, by at most two jumps (posix_spawn).
// The tables of all functions have to be built. Bounds: 64 KiB of code each.
LeafCall find_leaf_call(const ProcMemory& memory, const unwind::CodeMap& map,
                        const LeafCallers& callers) noexcept;

}  // namespace swipr::agent
