// Context: signal handler or control thread.
#pragma once

#include "preload/runtimes/interpreter_registers.h"
#include "preload/runtimes/luajit/luajit_place.h"

namespace swipr::runtimes {

// The instruction pointer is in a register that all callees keep, the base in one that they do not.
inline bool find_interpreted(LuaJitPlace& place, std::uint64_t& base,
                             std::uint64_t& next) noexcept {
  if (place.registers.knows(unwind::kBaseRegister) && !place.is_resuming) {
    next = place.registers.values[unwind::kBaseRegister] & ~std::uint64_t{3};
    const unsigned held = place.is_exact ? kLuaJitBaseRegister : unwind::kFrameRegister;
    const std::uint64_t known = place.registers.knows(held) ? place.registers.values[held] : 0;
    for (const std::uint64_t found : {known, place.head.base}) {
      base = found;
      if (place.runs(base, next)) return true;
      base = place.objects.caller_base(base, next);  // the call begins or ends
      if (place.runs(base, next)) return true;
    }
  }
  base = place.head.base;
  next = place.native.instruction & ~kLuaJitFlags;
  if (!place.registers.knows(unwind::kBaseRegister) || place.is_resuming)
    return place.runs(base, next);
  next = 0;
  return place.at - place.registers.values[unwind::kStackRegister] > 8 && place.is_base(base);
}

}  // namespace swipr::runtimes
