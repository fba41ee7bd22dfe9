#include "preload/agent/sample/callers/return_place.h"

namespace swipr::agent {

std::optional<StackPlace> ReturnPlaces::find(const ProcMemory& memory,
                                             const CodeGap& gap) noexcept {
  Known& known = known_[(gap.pc() ^ gap.pc() >> 10) % known_.size()];
  if (known.pc != gap.pc()) {
    const std::optional<StackPlace> place = follow_to_return(memory, gap);
    known = {.pc = gap.pc()};
    if (place) known = {gap.pc(), place->offset, place->reg, true};
  }
  if (!known.is_found) return std::nullopt;
  return StackPlace{.reg = known.reg, .offset = known.offset};
}

}  // namespace swipr::agent
