#include "preload/agent/sample/callers/frame_recovery.h"

namespace swipr::agent {

const Prologue& FrameRecovery::prologue_of(const ProcMemory& memory, const unwind::CodeMap& map,
                                           std::uint64_t pc) noexcept {
  Known& known = cache_[(pc >> 1) % cache_.size()];
  if (known.pc != pc) known = {.pc = pc, .prologue = read_prologue(memory, map, pc)};
  return known.prologue;
}

}  // namespace swipr::agent
