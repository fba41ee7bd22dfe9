// Context: signal handler or control thread.
#pragma once

#include <array>

#include "preload/runtimes/interpreter_registers.h"
#include "preload/runtimes/luajit/luajit_code_aarch64.h"
#include "preload/runtimes/luajit/luajit_place.h"

namespace swipr::runtimes {

// Callees may have saved the machine's registers anywhere. Most calls follow code that
// saves what is current. Functions of libm keep the instruction pointer in its register, and the
// base there or in their frames.
inline bool find_interpreted(LuaJitPlace& place, std::uint64_t& base,
                             std::uint64_t& next) noexcept {
  const std::uint64_t stack = place.registers.values[unwind::kStackRegister];
  const std::uint64_t pc = place.registers.values[unwind::kPcRegister];
  const std::uint64_t saved_next = place.native.instruction & ~kLuaJitFlags;
  if (place.is_resuming) return place.runs(base = place.head.base, next = saved_next);
  std::array<std::uint32_t, kLuaJitCallCode> code{};
  if (place.is_machine && !place.is_exact && place.objects.read(pc - sizeof code, code)) {
    const LuaJitSaved saved = saved_before_call(code);
    if (saved.base) {
      base = place.head.base;
      next = saved.instruction && place.runs(base, saved_next) ? saved_next : 0;
      return place.is_base(base);
    }
  }
  next = place.registers.values[kLuaJitInstructionRegister] & ~std::uint64_t{3};
  const std::uint64_t held = place.registers.values[kLuaJitBaseRegister];
  for (const std::uint64_t found : {held, place.head.base}) {
    base = found;
    if (place.runs(base, next)) return true;
    base = place.objects.caller_base(base, next);  // the call begins or ends
    // Returns move the base past each result that they have copied.
    constexpr unsigned kMostResults = 4;
    for (unsigned left = place.is_exact && found == held ? kMostResults : 0;; --left, base -= 8) {
      if (place.runs(base, next)) return true;
      if (left == 0) break;
    }
    if (!place.is_exact) break;
  }
  constexpr std::uint64_t kCalleesBytes = 512;
  for (std::uint64_t at = stack - 8; !place.is_exact && at >= place.stack_begin; at -= 8) {
    if (stack - at > kCalleesBytes || !place.objects.read_word(at, base)) break;
    if (place.runs(base, next)) return true;
  }
  base = place.head.base;
  next = 0;
  return place.at > stack && place.is_base(base);  // compiled code is being left
}

}  // namespace swipr::runtimes
