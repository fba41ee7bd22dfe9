// Determines where code without CFI will find its return address, from the instructions that it has
// not executed yet: what they add to the stack pointer until they return. On x86-64 the return
// address is there; on aarch64 it is in x30, in which those instructions leave it, and only the
// caller's stack pointer is there.
// Context: control thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "preload/agent/proc/proc_memory.h"
#include "preload/agent/sample/callers/call_site.h"
#include "preload/unwind/base/registers.h"

namespace swipr::agent {

// The value of a register at the given instruction, and an offset.
struct StackPlace {
  unsigned reg = unwind::kStackRegister;
  std::int64_t offset = 0;
  friend bool operator==(const StackPlace&, const StackPlace&) = default;
};

// Follows the code at gap.pc() up to its return. Bounds: 64 KiB of code.
std::optional<StackPlace> follow_to_return(const ProcMemory& memory, const CodeGap& gap) noexcept;

// Keeps what was found.
class ReturnPlaces {
 public:
  // For the code at gap.pc(). Conditional jumps are not taken and loops are left, because all paths
  // through a function result in the same stack pointer. Not all writes to other registers are
  // tracked, so the result must be confirmed by a walk from there. nullopt: not determined.
  std::optional<StackPlace> find(const ProcMemory& memory, const CodeGap& gap) noexcept;
  // Code changed.
  void forget() noexcept { known_ = {}; }

 private:
  struct Known {  // all zero if there is none, which keeps the recorder in .bss
    std::uint64_t pc = 0;
    std::int64_t offset = 0;
    unsigned reg = 0;
    bool is_found = false;
  };
  std::array<Known, 1024> known_{};
};

}  // namespace swipr::agent
