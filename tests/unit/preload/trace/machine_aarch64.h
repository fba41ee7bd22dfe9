#pragma once

#include <arm_neon.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>

#include "preload/machine/code_cache_aarch64.h"
#include "preload/trace/plan/patch.h"

namespace swipr::trace {

inline void make_jump(std::uint64_t from, std::uint64_t to, std::uint8_t (&out)[kJumpBytes]) {
  const std::uint32_t jump =
      0x14000000 | (static_cast<std::uint32_t>((to - from) >> 2) & 0x3ffffff);
  std::memcpy(out, &jump, sizeof jump);
}
inline void flush_code(std::uint64_t address, std::size_t bytes) {
  machine::synchronise_code(reinterpret_cast<const void*>(address), bytes);
}

using Vector = float64x2x2_t;
#define SWIPR_VECTOR_TARGET
inline bool has_vectors() { return true; }
inline Vector vector_of(double a, double b, double c, double d) {
  return {{float64x2_t{a, b}, float64x2_t{c, d}}};
}
inline Vector product_of(Vector a, Vector b) {
  return {{vmulq_f64(a.val[0], b.val[0]), vmulq_f64(a.val[1], b.val[1])}};
}
inline void store(double* to, Vector from) {
  vst1q_f64(to, from.val[0]);
  vst1q_f64(to + 2, from.val[1]);
}

#define SWIPR_LONG_ENOUGH asm volatile("nop")

inline std::uint64_t pc_of(const ucontext_t& context) { return context.uc_mcontext.pc; }
inline std::uint64_t stack_of(const ucontext_t& context) { return context.uc_mcontext.sp; }
inline void set_pc(ucontext_t& context, std::uint64_t pc) { context.uc_mcontext.pc = pc; }

// Of a machine of its own, and of the cross compiler.
inline constexpr const char* kLibraryFolders[] = {
    "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/aarch64-linux-gnu/lib"};

}  // namespace swipr::trace
