#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "preload/unwind/walk/loop/rule_cache.h"

namespace swipr::unwind {
namespace {

constexpr std::uint64_t kPc = 0x7f12'3456'789a;

Rule unpack(std::uint64_t bits) {
  const PackedRule packed(bits);
  const auto offset = [](std::uint64_t below) {
    return below == 0 ? Rule::kKept : static_cast<std::int16_t>(-static_cast<int>(below));
  };
  return {.cfa_register = static_cast<std::uint8_t>(packed.cfa_register()),
          .cfa_offset = static_cast<std::int32_t>(packed.cfa_offset()),
          .saved_frame = offset(packed.saved_frame()),
          .saved_base = offset(packed.saved_base())};
}

std::optional<Rule> through_cache(const Rule& rule) {
  const auto cache = std::make_unique<RuleCache>();
  cache->put(kPc, rule);
  const std::uint64_t entry = cache->find(kPc);
  return entry == 0 ? std::nullopt : std::optional(unpack(entry));
}

TEST(RuleCache, KeepsARuleAsItIs) {
  for (const Rule& rule :
       {Rule{.cfa_register = kRsp, .cfa_offset = 8},
        Rule{.cfa_register = kRsp, .cfa_offset = 65528},
        Rule{.cfa_register = kRbp, .cfa_offset = 16, .saved_frame = -16},
        Rule{.cfa_register = kRbx, .cfa_offset = 16, .saved_frame = -16, .saved_base = -248},
        Rule{.cfa_register = kRbp, .saved_base = -8}}) {
    EXPECT_EQ(through_cache(rule), rule);
  }
}

TEST(RuleCache, LeavesOutWhatDoesNotFit) {
  for (const Rule& rule :
       {Rule{.flags = kRuleExtended, .cfa_register = kRsp, .cfa_offset = 8},
        Rule{.cfa_register = kRsp, .cfa_offset = 65536},
        Rule{.cfa_register = kRsp, .cfa_offset = -8}, Rule{.cfa_register = kRsp, .cfa_offset = 12},
        Rule{.cfa_register = kRbp, .cfa_offset = 16, .saved_frame = -256},
        Rule{.cfa_register = kRbp, .cfa_offset = 16, .saved_frame = 8},
        Rule{.cfa_register = kRbp, .cfa_offset = 16, .saved_base = -12}}) {
    EXPECT_EQ(through_cache(rule), std::nullopt);
  }
}

TEST(RuleCache, TakesNoAddressForAnother) {
  const auto cache = std::make_unique<RuleCache>();
  EXPECT_EQ(cache->find(0), 0u);
  EXPECT_EQ(cache->find(kPc), 0u);
  cache->put(kPc, {.cfa_register = kRsp, .cfa_offset = 8});
  for (unsigned bit = 0; bit < 64; ++bit) {
    EXPECT_EQ(cache->find(kPc ^ std::uint64_t{1} << bit), 0u) << bit;
  }
  cache->put(kPc | std::uint64_t{1} << 60, {.cfa_register = kRsp, .cfa_offset = 16});
  EXPECT_EQ(unpack(cache->find(kPc)).cfa_offset, 8);
}

}  // namespace
}  // namespace swipr::unwind
