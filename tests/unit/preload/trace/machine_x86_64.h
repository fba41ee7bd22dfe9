#pragma once

#include <immintrin.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>

#include "preload/trace/plan/patch.h"

namespace swipr::trace {

inline void make_jump(std::uint64_t from, std::uint64_t to, std::uint8_t (&out)[kJumpBytes]) {
  const auto distance = static_cast<std::int32_t>(to - (from + kJumpBytes));
  out[0] = 0xe9;
  std::memcpy(out + 1, &distance, sizeof distance);
}
inline void flush_code(std::uint64_t, std::size_t) {}

using Vector = __m256d;
#define SWIPR_VECTOR_TARGET [[gnu::target("avx")]]
inline bool has_vectors() { return __builtin_cpu_supports("avx"); }
SWIPR_VECTOR_TARGET inline Vector vector_of(double a, double b, double c, double d) {
  return _mm256_set_pd(d, c, b, a);
}
SWIPR_VECTOR_TARGET inline Vector product_of(Vector a, Vector b) { return _mm256_mul_pd(a, b); }
SWIPR_VECTOR_TARGET inline void store(double* to, Vector from) { _mm256_storeu_pd(to, from); }

// Makes a function long enough for a jump.
#define SWIPR_LONG_ENOUGH asm volatile("leaq (%%rsp), %%rax" : : : "rax")

inline std::uint64_t pc_of(const ucontext_t& context) {
  return static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
}
inline std::uint64_t stack_of(const ucontext_t& context) {
  return static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_RSP]);
}
inline void set_pc(ucontext_t& context, std::uint64_t pc) {
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(pc);
}

inline constexpr const char* kLibraryFolders[] = {"/lib/x86_64-linux-gnu",
                                                  "/usr/lib/x86_64-linux-gnu"};

}  // namespace swipr::trace
