#include <gtest/gtest.h>

#include <memory>

#include "preload/unwind/walk/loop/rule_cache.h"

namespace swipr::unwind {
namespace {

constexpr std::uint64_t kCode = 0xaaaa'3456'7894;

bool is_kept(const Rule& rule) {
  const auto cache = std::make_unique<RuleCache>();
  cache->put(kCode, rule);
  const std::uint64_t bits = cache->find(kCode);
  if (bits == 0) return false;
  const PackedRule packed(bits);
  const auto offset = [](std::uint64_t below) {
    return below == 0 ? Rule::kKept : static_cast<std::int16_t>(-static_cast<int>(below));
  };
  const Rule unpacked{.cfa_register = static_cast<std::uint8_t>(packed.cfa_register()),
                      .cfa_offset = static_cast<std::int32_t>(packed.cfa_offset()),
                      .saved_frame = offset(packed.saved_frame()),
                      .saved_base = offset(packed.saved_base())};
  EXPECT_EQ(unpacked, rule);
  return true;
}

TEST(AarchPackedRule, KeepsARuleAsItIs) {
  EXPECT_TRUE(
      is_kept({.cfa_register = kSp, .cfa_offset = 16, .saved_frame = -16, .saved_base = -8}));
  EXPECT_TRUE(is_kept(
      {.cfa_register = kX29, .cfa_offset = 32752, .saved_frame = -32752, .saved_base = -32744}));
  EXPECT_TRUE(is_kept({.cfa_register = kSp, .cfa_offset = 48, .saved_base = -48}));
}

TEST(AarchPackedRule, LeavesOutWhatDoesNotFit) {
  EXPECT_FALSE(is_kept({.cfa_register = kSp, .cfa_offset = 0}));  // x30 is kept: a leaf
  EXPECT_FALSE(
      is_kept({.cfa_register = kSp, .cfa_offset = 8, .saved_frame = -16, .saved_base = -8}));
  EXPECT_FALSE(is_kept({.cfa_register = kSp, .cfa_offset = 32768, .saved_base = -8}));
  EXPECT_FALSE(
      is_kept({.cfa_register = kSp, .cfa_offset = 64, .saved_frame = -64, .saved_base = -8}));
  EXPECT_FALSE(is_kept({.cfa_register = kSp, .cfa_offset = 64, .saved_base = 8}));
}

}  // namespace
}  // namespace swipr::unwind
