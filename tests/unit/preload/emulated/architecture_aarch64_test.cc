#include <gtest/gtest.h>

#include "preload/unwind/base/architecture.h"

namespace swipr::unwind {
namespace {

constexpr std::uint64_t kReturnAddress = 0x5500'0000'1004;

std::uint64_t before(std::uint32_t instruction) { return std::uint64_t{instruction} << 32; }

TEST(AarchCall, TargetOfABranchWithLink) {
  EXPECT_EQ(direct_call_target(before(0x94000001), kReturnAddress), kReturnAddress);
  EXPECT_EQ(direct_call_target(before(0x97ffffff), kReturnAddress), kReturnAddress - 8);
  EXPECT_EQ(direct_call_target(before(0x95ffffff), kReturnAddress),
            kReturnAddress - 4 + 0x7ff'fffc);
}

TEST(AarchCall, OtherInstructionsHaveNone) {
  EXPECT_EQ(direct_call_target(before(0x14000001), kReturnAddress), 0u);  // b
  EXPECT_EQ(direct_call_target(before(0xd63f0000), kReturnAddress), 0u);  // blr x0
}

// PACIASP: a NOP on processors without pointer authentication.
std::uint64_t sign(std::uint64_t address) {
  register std::uint64_t x30 __asm__("x30") = address;
  __asm__ volatile("hint #25" : "+r"(x30));
  return x30;
}

TEST(AarchReturnAddress, SignatureIsRemoved) {
  EXPECT_EQ(plain_return_address(sign(kReturnAddress)), kReturnAddress);
  EXPECT_EQ(plain_return_address(kReturnAddress), kReturnAddress);
  EXPECT_EQ(plain_return_address(0), 0u);
}

}  // namespace
}  // namespace swipr::unwind
