// Context: control thread.
#pragma once

#include <cstdint>

#include "preload/agent/proc/proc_memory.h"

namespace swipr::agent {

// Where an entry of a procedure linkage table leads; 0: there is none.
std::uint64_t plt_target(const ProcMemory& memory, std::uint64_t entry) noexcept;

}  // namespace swipr::agent
