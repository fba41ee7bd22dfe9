// Places in the code that traced calls execute, and what they stand for in the program's own.
// Context: signal handler or control thread.  Allocates: never. Calls nothing.
#pragma once

#include <cstdint>

#include "preload/trace/plan/plan.h"

namespace swipr::trace {

// A function whose stub and copy were written. Lifetime: of the process.
struct PlacedFunction {
  const Plan* plan = nullptr;
  std::uint64_t stub = 0;
  std::uint64_t copy = 0;
  const std::uint8_t* original = nullptr;  // kJumpBytes
};

// From now on walks know it (preload/unwind/base/replaced_code.h). A probe is placed once; nothing
// of it changes afterwards, but for `plan`, whose function may be another one in its place.
void place(std::uint32_t probe, const PlacedFunction& function) noexcept;
// Its function was unmapped.
void displace(std::uint32_t probe) noexcept;

}  // namespace swipr::trace
