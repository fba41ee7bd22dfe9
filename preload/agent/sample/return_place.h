// Where code without CFI will find its return address, read off the instructions that it has not
// executed yet: what they add to the stack pointer until they return.
// Context: control thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "preload/agent/proc/proc_memory.h"
#include "preload/agent/sample/call_site.h"
#include "preload/unwind/base/registers.h"

namespace swipr::agent {

// The value of a register, at the instruction that was asked for, and a distance from it.
struct StackPlace {
  unsigned reg = unwind::kRsp;
  std::int64_t offset = 0;
  friend bool operator==(const StackPlace&, const StackPlace&) = default;
};

class ReturnPlaces {
 public:
  // Of the code at gap.pc(). Conditional jumps are not taken and loops are left: all ways through a
  // function leave the stack pointer the same. Writes to other registers are not seen, so the
  // answer is a proposal, to be confirmed by what lies there. nullopt: the instructions do not
  // tell.
  std::optional<StackPlace> find(const ProcMemory& memory, const CodeGap& gap) noexcept;
  // Code changed.
  void forget() noexcept { known_ = {}; }

 private:
  struct Known {  // zeros where there is none: the recorder is no data in the library's file
    std::uint64_t pc = 0;
    std::int64_t offset = 0;
    unsigned reg = 0;
    bool is_found = false;
  };
  std::array<Known, 1024> known_{};
};

}  // namespace swipr::agent
