// Code of LuaJIT's machine as Debian's 2.1 of March 2022 has it.
#include "preload/runtimes/luajit/luajit_code_aarch64.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

// Metamethods of tables; a function of C; one of libm; string.lower, which makes two calls; a
// collection. Then the beginnings and ends of frames.
__asm__(R"(
  .pushsection .rodata
  .balign 64
  .globl lj_code_index, lj_code_c, lj_code_libm, lj_code_lower, lj_code_step, lj_code_branch
  .globl lj_code_frame, lj_code_ffi
  .hidden lj_code_index, lj_code_c, lj_code_libm, lj_code_lower, lj_code_step, lj_code_branch
  .hidden lj_code_frame, lj_code_ffi
lj_code_index:
  b .
  str x19, [x23, #32]
  mov x0, x23
  str x21, [sp, #8]
  bl .
lj_code_c:
  b .
  ldr x3, [x2, #40]
  add x1, x27, x28
  ldr x0, [x23, #48]
  add x28, x19, x28
  cmp x1, x0
  stp x19, x28, [x23, #32]
  mov w8, #-2
  mov x0, x23
  b.hi .
  str w8, [x22, #184]
  blr x3
lj_code_libm:
  str x19, [x23, #32]
  str x21, [sp, #8]
  br x8
  ldr x0, [x19]
  ldr d0, [x19]
  b.lo .
  bl .
lj_code_lower:
  br x8
  str x19, [x23, #32]
  str x21, [sp, #8]
  str x23, [x0, #16]
  bl .
  bl .
lj_code_step:
  ret
  add x1, x19, x28
  mov x27, x30
  stp x19, x1, [x23, #32]
  str x21, [sp, #8]
  mov x0, x23
  bl .
lj_code_branch:
  str x19, [x23, #32]
  add x19, x19, #8
  str x21, [sp, #8]
  bl .
lj_code_frame:
  nop
  sub sp, sp, #208
  stp x29, x30, [sp, #192]
  add x29, sp, #192
  stp x20, x19, [sp, #176]
  ldp x28, x27, [sp, #112]
  ldp x29, x30, [sp, #192]
  add sp, sp, #208
  ret
lj_code_ffi:
  ret
  stp x20, x19, [sp, #-32]!
  stp x29, x30, [sp, #16]
  add x29, sp, #16
  mov x19, x0
  sub sp, x29, #16
  ldp x29, x30, [sp, #16]
  ldp x20, x19, [sp], #32
  ret
  .popsection
)");
extern "C" {
extern const std::uint32_t lj_code_index[5], lj_code_c[12], lj_code_libm[7], lj_code_lower[6],
    lj_code_step[7], lj_code_branch[4], lj_code_frame[9], lj_code_ffi[9];
}

namespace swipr::runtimes {
namespace {

template <std::size_t kCount>
LuaJitSaved saved(const std::uint32_t (&code)[kCount], std::size_t count = kCount) {
  std::array<std::uint32_t, kLuaJitCallCode> bits{};
  std::copy_n(code, count, bits.end() - static_cast<std::ptrdiff_t>(count));
  return saved_before_call(bits);
}

TEST(LuaJitCode, SavesTheBaseBeforeCallsThatLookAtIt) {
  EXPECT_TRUE(saved(lj_code_index).base && saved(lj_code_index).instruction);
  EXPECT_TRUE(saved(lj_code_c).base && !saved(lj_code_c).instruction);
  EXPECT_TRUE(saved(lj_code_lower).base && saved(lj_code_lower).instruction);
  EXPECT_TRUE(saved(lj_code_lower, 5).base && saved(lj_code_lower, 5).instruction);
  EXPECT_TRUE(saved(lj_code_step).base && saved(lj_code_step).instruction);
}

TEST(LuaJitCode, OfOtherWaysToACallDoesNotCount) {
  EXPECT_FALSE(saved(lj_code_libm).base || saved(lj_code_libm).instruction);
  EXPECT_FALSE(saved(lj_code_branch).base);
  EXPECT_FALSE(saved_before_call({}).base);
}

template <std::size_t kCount>
void expect_distances(const std::uint32_t (&code)[kCount], std::uint64_t bytes) {
  const std::optional<std::uint64_t> none;
  const std::initializer_list<std::optional<std::uint64_t>> wanted = {0,    bytes, bytes, none,
                                                                      none, none,  bytes, 0};
  std::size_t at = 1;
  for (const auto& distance : wanted) {
    EXPECT_EQ(luajit_caller_distance({code[at - 1], code[at]}), distance) << at;
    ++at;
  }
}

TEST(LuaJitCode, TellsWhereItHasNoFrame) {
  expect_distances(lj_code_frame, 208);
  expect_distances(lj_code_ffi, 32);
}

}  // namespace
}  // namespace swipr::runtimes
