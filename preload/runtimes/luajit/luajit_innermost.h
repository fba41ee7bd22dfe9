// Finds the base of the innermost function of a native frame, and its next instruction.
// Context: signal handler or control thread.  Bounds: some tens of small reads.
#pragma once

#if defined(__x86_64__)
#include "preload/runtimes/luajit/luajit_innermost_x86_64.h"
#elif defined(__aarch64__)
#include "preload/runtimes/luajit/luajit_innermost_aarch64.h"
#endif

namespace swipr::runtimes {

// `next`: 0 if it is not known. False: nothing proves that a base is current.
inline bool find_innermost(LuaJitPlace& place, bool& is_compiled, std::uint64_t& base,
                           std::uint64_t& next) noexcept {
  next = 0;
  base = place.jit_base();
  is_compiled = base != 0;
  if (is_compiled) return place.is_base(base);
  if (place.native.result_count >= 0) return find_interpreted(place, base, next);
  // It runs a function of LuaJIT itself, which has the state saved.
  base = place.head.base;
  return place.is_base(base);
}

}  // namespace swipr::runtimes
