// RBP of a blocked thread whose system call wrapper never saved it. /proc shows only SP and PC; a
// function built with frame pointers needs RBP, and every frame between it and the system call left
// RBP alone (otherwise the walk would know where it lies). What RBP must be follows from SP at the
// call and what the function took from the stack since `mov %rsp,%rbp`, read off its instructions
// from its entry on, because compilers spread a prologue over the function's first block. It is
// believed only when the return address above it was pushed by a call that leads to that function.
// Context: control thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "preload/agent/proc/proc_memory.h"
#include "preload/unwind/table/code_map.h"

namespace swipr::agent {

class FrameRecovery {
 public:
  // `pc` lies in the function whose frame is needed, behind a call or system call, and `sp` is its
  // stack pointer there. nullopt: its instructions do not tell, or what they lead to is not the
  // function's frame. A walk from the answer has to arrive at the thread's root to confirm it:
  // a call through a pointer can have had any target.
  std::optional<std::uint64_t> recover_rbp(const ProcMemory& memory, const unwind::CodeMap& map,
                                           std::uint64_t pc, std::uint64_t sp) noexcept;
  // Code changed: prologues are looked up anew.
  void forget() noexcept { cache_ = {}; }

 private:
  struct Prologue {
    std::uint64_t pc = 0;
    std::uint64_t function = 0;     // 0: none found
    std::uint64_t frame_bytes = 0;  // from SP to RBP
  };
  const Prologue& prologue_of(const ProcMemory& memory, const unwind::CodeMap& map,
                              std::uint64_t pc) noexcept;

  std::array<Prologue, 256> cache_{};
};

// Parts, for tests. The bytes that end right before a return address: did a call push it that leads
// to `function`, directly, through the PLT, or through a function that ends in a jump there? A call
// through a register or a computed address can have had any target and is believed.
bool is_call_of(const ProcMemory& memory, std::uint64_t return_address,
                std::uint64_t function) noexcept;

}  // namespace swipr::agent
