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
       }) {
    EXPECT_FALSE(keeps_return_address(word)) << std::hex << word;
  }
}

TEST(AarchInstruction, EndsALeaf) {
  EXPECT_TRUE(ends_leaf(0xd65f03c0));   // ret
  EXPECT_TRUE(ends_leaf(0xd65f0bff));   // retaa
  EXPECT_TRUE(ends_leaf(0xd61f0220));   // br x17
  EXPECT_TRUE(ends_leaf(0xd61f0200));   // br x16
  EXPECT_FALSE(ends_leaf(0xd61f0000));  // br x0: a switch
  EXPECT_FALSE(ends_leaf(0xd65f0000));  // ret x0
  EXPECT_FALSE(ends_leaf(0x14000001));  // b
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

}  // namespace
}  // namespace swipr::machine
