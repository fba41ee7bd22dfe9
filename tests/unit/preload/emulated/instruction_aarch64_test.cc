#include "preload/machine/instruction_aarch64.h"

#include <gtest/gtest.h>

#include <cstring>

#include "preload/unwind/walk/leaf_end.h"

namespace swipr::machine {
namespace {

// As GNU as encodes them.
TEST(AarchInstruction, KeepsTheReturnAddress) {
  for (const std::uint32_t word : {
           0xd503233fu,  // paciasp
           0xd50323bfu,  // autiasp
           0x8b2463e4u,  // add x4, sp, x4
           0xf94003e0u,  // ldr x0, [sp]
           0xf81f03e0u,  // stur x0, [sp, #-16]
           0xa9000be1u,  // stp x1, x2, [sp]
           0xeb1f03ffu,  // subs xzr, xzr, xzr
           0xf10003ffu,  // cmp sp, #0
           0xf24003ffu,  // ands xzr, xzr, #1: tst
           0xf90003feu,  // str x30, [sp]
           0x1400001eu,  // b
           0xb400001eu,  // cbz x30
           0xd65f03c0u,  // ret
           0xd4000001u,  // svc #0
           0x9b052400u,  // madd x0, x0, x5, x9
           0x4e61cc1eu,  // fmla v30.2d, v0.2d, v1.2d
           0x4c40783eu,  // ld1 {v30.4s}, [x1]
           0xad407c1eu,  // ldp q30, q31, [x0]
           0x4e080c1eu,  // dup v30.2d, x0
           0x1e60403eu,  // fmov d30, d1
           0xc87f7440u,  // ldxp x0, x29, [x2]
           0xa8407420u,  // ldnp x0, x29, [x1]
           0xf85e0c20u,  // ldr x0, [x1, #-32]!
           0xa9fe0440u,  // ldp x0, x1, [x2, #-32]!
           0xadc17820u,  // ldp q0, q30, [x1, #32]!
           0x918107e0u,  // addg x0, sp, #16, #1
           0x043f5020u,  // addvl x0, sp, #1
           0x9adf13e0u,  // irg x0, sp
           0xd9600be0u,  // stzg x0, [sp]
       }) {
    EXPECT_TRUE(keeps_return_address(word)) << std::hex << word;
  }
}

TEST(AarchInstruction, MayLoseTheReturnAddress) {
  for (const std::uint32_t word : {
           0x94000001u,  // bl
           0xd63f0000u,  // blr x0
           0xd73f0801u,  // blraa x0, x1
           0xd10043ffu,  // sub sp, sp, #16
           0x910003bfu,  // mov sp, x29
           0x8b2063ffu,  // add sp, sp, x0
           0x927cec1fu,  // and sp, x0, #-16
           0xa9bf7bfdu,  // stp x29, x30, [sp, #-16]!
           0xa8c17bfdu,  // ldp x29, x30, [sp], #16
           0x6dbf27e8u,  // stp d8, d9, [sp, #-16]!
           0xf81f0fe0u,  // str x0, [sp, #-16]!
           0xf84107e0u,  // ldr x0, [sp], #16
           0xa9407bfdu,  // ldp x29, x30, [sp]
           0xf94003feu,  // ldr x30, [sp]
           0xaa0003feu,  // mov x30, x0
           0x9b05241eu,  // madd x30, x0, x5, x9
           0x4c9f2fe8u,  // st1 {v8.4s-v11.4s}, [sp], #64
           0x9e66001eu,  // fmov x30, d0
           0x4e083c1eu,  // umov x30, v0.d[0]
           0x9e78001eu,  // fcvtzs x30, d0
           0x9e58f01eu,  // fcvtzs x30, d0, #4
           0xa9c17bfdu,  // ldp x29, x30, [sp, #16]!
           0xa8407820u,  // ldnp x0, x30, [x1]
           0xc87f7820u,  // ldxp x0, x30, [x1]
           0x483e7c40u,  // casp x30, xzr, x0, x1, [x2]
           0xc8be7c20u,  // cas x30, x0, [x1]
           0x1d01045eu,  // cpyp [x30]!, [x1]!, x2!
           0xf820003eu,  // ldadd x0, x30, [x1]
           0xf8408fc0u,  // ldr x0, [x30, #8]!
           0xf820041eu,  // ldraa x30, [x0]
           0x043f57ffu,  // addvl sp, sp, #-1
           0x047f505fu,  // addpl sp, sp, #2
           0x918107ffu,  // addg sp, sp, #16, #1
           0xd181041fu,  // subg sp, x0, #16, #1
           0x9adf101fu,  // irg sp, x0
           0xd92017e0u,  // stg x0, [sp], #16
           0xd9bfefe0u,  // st2g x0, [sp, #-32]!
           0x688107e0u,  // stgp x0, x1, [sp], #32
       }) {
    EXPECT_FALSE(keeps_return_address(word)) << std::hex << word;
  }
}

TEST(AarchInstruction, EndsALeaf) {
  EXPECT_TRUE(ends_leaf(0xd65f03c0));   // ret
  EXPECT_TRUE(ends_leaf(0xd65f0bff));   // retaa
  EXPECT_TRUE(ends_leaf(0xd65f0fff));   // retab
  EXPECT_TRUE(ends_leaf(0xd61f0220));   // br x17
  EXPECT_TRUE(ends_leaf(0xd61f0200));   // br x16
  EXPECT_FALSE(ends_leaf(0xd61f0000));  // br x0: a switch
  EXPECT_FALSE(ends_leaf(0xd65f0000));  // ret x0
  EXPECT_FALSE(ends_leaf(0x14000001));  // b
}

TEST(AarchInstruction, IsACallOrAReturn) {
  for (const std::uint32_t word : {0x94000001u, 0xd63f0000u, 0xd73f0864u, 0xd63f0c7fu, 0xd65f03c0u,
                                   0xd65f0000u, 0xd65f0bffu, 0xd65f0fffu}) {
    EXPECT_TRUE(is_call_or_return(word)) << std::hex << word;
  }
  EXPECT_FALSE(is_call_or_return(0xd61f0000)) << "br x0";
  EXPECT_FALSE(is_call_or_return(0x14000001)) << "b";
}

TEST(AarchInstruction, IsATrap) {
  EXPECT_TRUE(is_trap(0xd4200020));   // brk #1
  EXPECT_TRUE(is_trap(0));            // udf #0
  EXPECT_FALSE(is_trap(0xd4000001));  // svc #0
}

bool ends_as_leaf(const std::uint32_t* pc) {
  return unwind::ends_as_leaf(
      reinterpret_cast<std::uint64_t>(pc), [](std::uint64_t address, std::uint64_t& out) {
        std::memcpy(&out, reinterpret_cast<const void*>(address), sizeof out);
        return true;
      });
}

TEST(AarchLeaf, AStubOfALinkageTableIsOneFromEachOfItsInstructionsOn) {
  alignas(8) constexpr std::uint32_t kStub[] = {
      0xf0000bb0,  // adrp x16, …
      0xf940f611,  // ldr x17, [x16, #488]
      0x9107a210,  // add x16, x16, #488
      0xd61f0220,  // br x17
  };
  for (const std::uint32_t& pc : kStub) EXPECT_TRUE(ends_as_leaf(&pc));
}

TEST(AarchLeaf, ALoopOfItsOwnIsPassed) {
  alignas(8) constexpr std::uint32_t kLoop[] = {
      0x11000400,  // add w0, w0, #1
      0x35ffffe0,  // cbnz w0, back
      0xd65f03c0,  // ret
      0,
  };
  EXPECT_TRUE(ends_as_leaf(kLoop));
}

TEST(AarchLeaf, AFunctionWithAFrameIsNone) {
  alignas(8) constexpr std::uint32_t kFunction[] = {
      0xa9bf7bfd,  // stp x29, x30, [sp, #-16]!
      0x94000010,  // bl
      0xa8c17bfd,  // ldp x29, x30, [sp], #16
      0xd65f03c0,  // ret
  };
  EXPECT_FALSE(ends_as_leaf(kFunction));
  EXPECT_FALSE(ends_as_leaf(kFunction + 1));
  EXPECT_FALSE(ends_as_leaf(kFunction + 2));
  EXPECT_TRUE(ends_as_leaf(kFunction + 3));
}

TEST(AarchLeaf, WhatEndsInATrapIsNone) {
  alignas(8) constexpr std::uint32_t kTrap[] = {0xd4200020, 0xd65f03c0};
  EXPECT_FALSE(ends_as_leaf(kTrap));
}

}  // namespace
}  // namespace swipr::machine
