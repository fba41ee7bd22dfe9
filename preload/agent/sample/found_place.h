// Where a signal has found a thread, relative to system calls.
// Context: control thread.
#pragma once

#include <cstdint>

#include "preload/agent/proc/proc_memory.h"
#include "preload/unwind/base/registers.h"

namespace swipr::agent {

enum class Found : std::uint8_t {
  kInItsCode,
  kBehindACall,
  kInAWait,  // in a call that the kernel repeats, or the handler does
};
Found found_at(const ProcMemory& memory, const unwind::Registers& registers) noexcept;

// kInAWait: the address after the instruction that makes the call.
std::uint64_t pc_behind_call(const ProcMemory& memory, const unwind::Registers& registers) noexcept;

// kInAWait, kBehindACall: the number of the call. -1: not known.
std::int32_t found_call(const ProcMemory& memory, const unwind::Registers& registers) noexcept;

}  // namespace swipr::agent
