// The frame pointer (rbp, x29) of a blocked thread whose system call wrapper never saved it. /proc
// shows only SP and PC; a function that addresses its frame by the frame pointer needs it, and no
// frame between it and the system call changed it (otherwise the walk would know where it is
// saved). It follows from SP at the call and the stack space between the two, decoded from the
// function's instructions from its entry on, because compilers spread a prologue over the
// function's first block. It is accepted only if the return address above it is that of a call
// to that function. Go's function that switches to the thread's own stack for calls of C has its
// frame on the goroutine's stack (x86-64).
//
// Context: control thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "preload/agent/proc/proc_memory.h"
#include "preload/agent/sample/callers/call_site.h"
#include "preload/unwind/table/code_map.h"

namespace swipr::agent {

// Of the function at `pc`.
struct Prologue {
  std::uint64_t function = 0;     // 0: none found
  std::uint64_t frame_bytes = 0;  // from SP to the frame pointer
};
Prologue read_prologue(const ProcMemory& memory, const unwind::CodeMap& map,
                       std::uint64_t pc) noexcept;

class FrameRecovery {
 public:
  // `pc` is in the function whose frame is needed, after a call or system call, and `sp` is its
  // stack pointer there. nullopt: its instructions do not determine the frame, or the result is not
  // its frame. A walk from the result has to reach the thread's root to confirm it: a call through
  // a pointer can have had any target.
  std::optional<std::uint64_t> recover(const ProcMemory& memory, const unwind::CodeMap& map,
                                       std::uint64_t pc, std::uint64_t sp) noexcept;
  // Code has changed: prologues are decoded again.
  void forget() noexcept { cache_ = {}; }

 private:
  struct Known {
    std::uint64_t pc = 0;
    Prologue prologue;
  };
  const Prologue& prologue_of(const ProcMemory& memory, const unwind::CodeMap& map,
                              std::uint64_t pc) noexcept;

  std::array<Known, 256> cache_{};
};

// Parts, for tests. Whether the bytes before a return address are a call to `function`, directly,
// through the PLT, or through a function that ends in a jump to it. A call through a register or a
// computed address can have had any target and is accepted.
inline bool is_call_of(const ProcMemory& memory, std::uint64_t return_address,
                       std::uint64_t function) noexcept {
  return find_call_of(memory, return_address, function).kind != CallSite::Kind::kNone;
}

}  // namespace swipr::agent
