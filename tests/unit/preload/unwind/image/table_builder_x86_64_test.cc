#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "preload/unwind/image/table_builder.h"
#include "preload/unwind/table/unwind_table.h"
#include "tests/unit/preload/unwind/cfi_image.h"

namespace swipr::unwind {
namespace {

constexpr std::uint64_t kText = CfiImage::kText;

struct Destroy {
  void operator()(const UnwindTable* table) const { destroy_table(table); }
};
using TablePtr = std::unique_ptr<const UnwindTable, Destroy>;

TablePtr build_ok(const CfiImage& image) {
  const BuildResult result = image.build();
  EXPECT_EQ(result.status, BuildStatus::kOk);
  return TablePtr(result.table);
}

// One function of 64 bytes whose instructions are `instructions`.
TablePtr build_function(const Bytes& instructions, const CieOptions& options = {}) {
  CfiImage image;
  image.add_fde(image.add_cie(CfiImage::initial(), options), kText, 64, instructions);
  return build_ok(image);
}

Rule rule_at(const TablePtr& table, std::uint64_t offset) {
  const Rule* const rule = table != nullptr ? table->find(kText + offset) : nullptr;
  return rule != nullptr ? *rule : Rule{.flags = kRuleNone};
}

Rule plain(std::uint8_t reg, std::int32_t offset, std::int16_t frame = Rule::kKept,
           std::int16_t base = Rule::kKept) {
  return {.cfa_register = reg, .cfa_offset = offset, .saved_frame = frame, .saved_base = base};
}
const Rule kNoCfiHere{.flags = kRuleNone};

TEST(TableBuilder, ReadsLoadBiasAndBuildId) {
  CfiImage image;
  image.add_fde(image.add_cie(), kText, 16, {});
  const BuildResult result = image.build();
  const TablePtr table(result.table);
  EXPECT_EQ(result.status, BuildStatus::kOk);
  EXPECT_EQ(result.load_bias, CfiImage::kLoadBias);
  ASSERT_EQ(result.build_id_bytes, sizeof CfiImage::kBuildId);
  EXPECT_EQ(std::memcmp(result.build_id, &CfiImage::kBuildId, sizeof CfiImage::kBuildId), 0);
  EXPECT_GT(table_memory_bytes(table.get()), sizeof(UnwindTable));
}

TEST(TableBuilder, FollowsAPrologueAndItsEpilogue) {
  // push rbp; mov rbp, rsp; push rbx; …; ret, with a jump over the epilogue
  const TablePtr table =
      build_function({0x41, 0x0e, 16,   0x86, 2,              // advance 1, CFA + 16, rbp
                      0x43, 0x0d, 6,                          // advance 3, CFA on rbp
                      0x44, 0x83, 3,                          // advance 4, rbx
                      0x0a, 0x50, 0x0c, 7,    8, 0xc6, 0xc3,  // remember, 16, restored
                      0x41, 0x0b});                           // advance 1, restore state
  EXPECT_EQ(rule_at(table, 0), plain(7, 8));
  EXPECT_EQ(rule_at(table, 1), plain(7, 16, -16));
  EXPECT_EQ(rule_at(table, 3), plain(7, 16, -16));
  EXPECT_EQ(rule_at(table, 4), plain(6, 16, -16));
  EXPECT_EQ(rule_at(table, 8), plain(6, 16, -16, -24));
  EXPECT_EQ(rule_at(table, 23), plain(6, 16, -16, -24));
  EXPECT_EQ(rule_at(table, 24), plain(7, 8));
  EXPECT_EQ(rule_at(table, 25), plain(6, 16, -16, -24));
  EXPECT_EQ(rule_at(table, 63), plain(6, 16, -16, -24));
  EXPECT_EQ(rule_at(table, 64), kNoCfiHere);
}

TEST(TableBuilder, KnowsWhereFunctionsBegin) {
  CfiImage image;
  const auto cie = image.add_cie();
  image.add_fde(cie, kText + 32, 32, {});
  image.add_fde(cie, kText, 16, {});
  const TablePtr table = build_ok(image);
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->function_start(kText), kText);
  EXPECT_EQ(table->function_start(kText + 31), kText);
  EXPECT_EQ(table->function_start(kText + 32), kText + 32);
  EXPECT_EQ(table->function_start(kText + 63), kText + 32);
  EXPECT_EQ(table->function_start(kText + 64), 0u);
  EXPECT_EQ(table->function_start(kText - 1), 0u);
}

struct InstructionCase {
  const char* name;
  Bytes instructions;  // the state at the start
  Rule expected;
};
void PrintTo(const InstructionCase& c, std::ostream* out) { *out << c.name; }

class Instruction : public testing::TestWithParam<InstructionCase> {};
TEST_P(Instruction, HasItsEffect) {
  EXPECT_EQ(rule_at(build_function(GetParam().instructions), 0), GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    TableBuilder, Instruction,
    testing::Values(InstructionCase{"nop", {0x00}, plain(7, 8)},
                    InstructionCase{"offset_extended", {0x05, 6, 2}, plain(7, 8, -16)},
                    InstructionCase{"restore_extended", {0x86, 2, 0x06, 6}, plain(7, 8)},
                    InstructionCase{"undefined_return_address", {0x07, 16}, {.flags = kRuleRoot}},
                    InstructionCase{"same_value", {0x83, 2, 0x08, 3}, plain(7, 8)},
                    InstructionCase{"def_cfa", {0x0c, 3, 0x80, 2}, plain(3, 256)},
                    InstructionCase{"def_cfa_register", {0x0d, 6}, plain(6, 8)},
                    InstructionCase{"def_cfa_offset", {0x0e, 0x90, 1}, plain(7, 144)},
                    InstructionCase{"offset_extended_sf", {0x11, 6, 0x7e}, plain(7, 8, 16)},
                    InstructionCase{"def_cfa_sf", {0x12, 6, 0x7e}, plain(6, 16)},
                    InstructionCase{"def_cfa_offset_sf", {0x13, 0x7c}, plain(7, 32)},
                    InstructionCase{"gnu_args_size", {0x2e, 0x90, 1}, plain(7, 8)},
                    InstructionCase{"gnu_negative_offset_extended", {0x2f, 6, 2}, plain(7, 8, 16)},
                    InstructionCase{"vector_register", {0x05, 17, 4}, plain(7, 8)},
                    InstructionCase{"unknown_instruction", {0x3f}, kNoCfiHere},
                    InstructionCase{"restore_without_remember", {0x0b}, kNoCfiHere},
                    InstructionCase{"cut_off_operand", {0x0e, 0x80, 0x80}, kNoCfiHere},
                    InstructionCase{"register_beyond_the_machines", {0x0d, 40}, kNoCfiHere},
                    InstructionCase{"expression_past_the_end", {0x0f, 0x7f, 0x77, 8}, kNoCfiHere}),
    [](const auto& instance) { return std::string(instance.param.name); });

struct AdvanceCase {
  const char* name;
  Bytes advance;
  std::uint64_t distance;
};
void PrintTo(const AdvanceCase& c, std::ostream* out) { *out << c.name; }
class Advance : public testing::TestWithParam<AdvanceCase> {};
TEST_P(Advance, MovesToTheNextRow) {
  CfiImage image;
  Bytes instructions = GetParam().advance;
  image.add_fde(image.add_cie(), kText, 0x90000, instructions.append({0x0e, 16}));
  const TablePtr table = build_ok(image);
  EXPECT_EQ(rule_at(table, GetParam().distance - 1), plain(7, 8));
  EXPECT_EQ(rule_at(table, GetParam().distance), plain(7, 16));
}
INSTANTIATE_TEST_SUITE_P(
    TableBuilder, Advance,
    testing::Values(AdvanceCase{"loc", {0x7f}, 63}, AdvanceCase{"loc1", {0x02, 0xc8}, 200},
                    AdvanceCase{"loc2", {0x03, 0x10, 0x27}, 10000},
                    AdvanceCase{"loc4", {0x04, 0x40, 0x0d, 0x03, 0x00}, 200000},
                    AdvanceCase{"loc8", {0x1d, 1, 0, 1, 0, 0, 0, 0, 0}, 65537}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(TableBuilder, MultipliesByTheCodeAlignment) {
  const TablePtr table = build_function({0x41, 0x0e, 16}, {.code_alignment = 4});
  EXPECT_EQ(rule_at(table, 3), plain(7, 8));
  EXPECT_EQ(rule_at(table, 4), plain(7, 16));
}

TEST(TableBuilder, KeepsExpressionsAndTheirOrder) {
  // rbp, rbx and the CFA by expressions, as in a realigned frame
  const TablePtr table = build_function({0x0f, 3, 0x76, 0x78, 0x06,  // CFA = *(rbp - 8)
                                         0x10, 6, 2, 0x76, 0x00,     // rbp at rbp + 0
                                         0x10, 3, 2, 0x76, 0x70});   // rbx at rbp - 16
  const Rule rule = rule_at(table, 0);
  EXPECT_EQ(rule.flags, kRuleExtended | kRuleCfaExpression);
  ASSERT_EQ(rule.location_count, 4);
  const Location* const location = table->locations + rule.first_location;
  EXPECT_EQ(location[0].kind, LocationKind::kValExpression);
  EXPECT_EQ(location[1].reg, 16);
  EXPECT_EQ(location[2].reg, 3);
  EXPECT_EQ(location[3].reg, 6);
  const auto bytes =
      table->expression(static_cast<std::size_t>(location[0].value), location[0].expression_bytes);
  ASSERT_EQ(bytes.size(), 3u);
  EXPECT_EQ(bytes[0], std::byte{0x76});
}

TEST(TableBuilder, SharesEqualRules) {
  CfiImage image;
  const std::size_t cie = image.add_cie();
  for (unsigned i = 0; i < 1000; ++i) {
    image.add_fde(cie, kText + 64 * i, 32, {0x41, 0x0e, 16, 0x42, 0x0f, 2, 0x77, 8});
  }
  const TablePtr table = build_ok(image);
  EXPECT_EQ(table->rule_count, 4u);  // none, two plain, one expression
  EXPECT_EQ(table->row_count, 4000u);
  EXPECT_EQ(rule_at(table, 64 * 999 + 2), plain(7, 16));
  EXPECT_EQ(rule_at(table, 64 * 999 + 32), kNoCfiHere);
}

TEST(TableBuilder, LeavesGapsWithoutARule) {
  CfiImage image;
  const std::size_t cie = image.add_cie();
  image.add_fde(cie, kText + 256, 16, {0x0e, 24});  // out of order on purpose
  image.add_fde(cie, kText, 16, {});
  const TablePtr table = build_ok(image);
  EXPECT_EQ(rule_at(table, 15), plain(7, 8));
  EXPECT_EQ(rule_at(table, 16), kNoCfiHere);
  EXPECT_EQ(rule_at(table, 255), kNoCfiHere);
  EXPECT_EQ(rule_at(table, 256), plain(7, 24));
  EXPECT_EQ(table->find(kText - 1), nullptr);
  EXPECT_EQ(table->find(kText + 272), nullptr);
  EXPECT_EQ(table->find(~std::uint64_t{0}), nullptr);
}

TEST(TableBuilder, LetsTheLaterOfOverlappingFunctionsWin) {
  CfiImage image;
  const std::size_t cie = image.add_cie();
  image.add_fde(cie, kText, 64, {0x60, 0x0e, 16});
  image.add_fde(cie, kText + 16, 8, {0x0e, 24});
  const TablePtr table = build_ok(image);
  EXPECT_EQ(rule_at(table, 15), plain(7, 8));
  EXPECT_EQ(rule_at(table, 16), plain(7, 24));
  EXPECT_EQ(rule_at(table, 24), kNoCfiHere);
}

TEST(TableBuilder, ReadsPersonalityAndSignalFrames) {
  const TablePtr table = build_function(
      {0x0e, 16}, {.augmentation = "zPLRS", .augmentation_data = {0x9b, 1, 2, 3, 4, 0x1b, 0x1b}});
  const Rule rule = rule_at(table, 0);
  EXPECT_EQ(rule.flags, kRuleExtended | kRuleSignalFrame);
  EXPECT_EQ(rule.cfa_offset, 16);
}

TEST(TableBuilder, ReadsEveryPointerEncoding) {
  const std::uint64_t run_time = CfiImage::kLoadBias + kText;
  for (const bool pc_relative : {false, true}) {
    for (const int format : {0x00, 0x01, 0x04, 0x09, 0x0b, 0x0c}) {
      CfiImage image;
      const auto encoding = static_cast<std::uint8_t>(format + (pc_relative ? 0x10 : 0));
      const std::size_t cie = image.add_cie(CfiImage::initial(), {.augmentation_data = {encoding}});
      const std::size_t field = CfiImage::kEhFrame + image.eh_frame.size() + 8;
      const std::uint64_t value = pc_relative ? kText - field : run_time;
      Bytes body;
      body.number(static_cast<std::uint32_t>(image.eh_frame.size() + 4 - cie));
      if (format == 0x01 || format == 0x09) {
        for (std::uint64_t rest = value;; rest >>= 7) {
          const bool last = rest < 0x40;
          body.number(static_cast<std::uint8_t>((rest & 0x7f) | (last ? 0u : 0x80u)));
          if (last) break;
        }
        body.number(std::uint8_t{32});
      } else if (format == 0x0b) {
        if (!pc_relative) continue;  // four bytes do not hold a run-time address
        body.number(static_cast<std::int32_t>(value)).number(std::uint32_t{32});
      } else {
        body.number(value).number(std::uint64_t{32});
      }
      body.number(std::uint8_t{0});  // no augmentation data
      image.add_raw(Bytes().number(static_cast<std::uint32_t>(body.size())).append(body));
      const TablePtr table = build_ok(image);
      EXPECT_EQ(rule_at(table, 31), plain(7, 8)) << "encoding " << std::hex << int{encoding};
      EXPECT_EQ(rule_at(table, 32), kNoCfiHere) << "encoding " << std::hex << int{encoding};
    }
  }
}

TEST(TableBuilder, ReadsThe64BitForm) {
  CfiImage image;
  const std::size_t cie = image.add_cie();
  const std::size_t id_at = image.eh_frame.size() + 12;
  Bytes fde;
  fde.number(std::uint32_t{0xffffffff}).number(std::uint64_t{16});
  fde.number(static_cast<std::uint32_t>(id_at - cie));
  fde.number(static_cast<std::int32_t>(kText - (CfiImage::kEhFrame + id_at + 4)));
  fde.number(std::uint32_t{32}).append({0, 0x0e, 16, 0});
  image.add_raw(fde);
  EXPECT_EQ(rule_at(build_ok(image), 0), plain(7, 16));
}

// What is left of each kind of damage.
TEST(TableBuilder, KeepsWhatComesBeforeDamage) {
  CfiImage image;
  image.add_fde(image.add_cie(), kText, 32, {});
  image.add_raw(Bytes().number(std::uint32_t{0x7fffff00}));
  EXPECT_EQ(rule_at(build_ok(image), 0), plain(7, 8));
}

// The factored offset is -2^63, which has no negative.
TEST(TableBuilder, TakesAnOffsetWithoutANegativeForDamage) {
  CfiImage image;
  const Bytes initial = {0x0c, 7, 8, 0x11, 16, 0x78};  // the return address by a signed offset
  const Bytes offset = {0x2f, 6, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01};
  image.add_fde(image.add_cie(initial, {.data_alignment = 1}), kText, 64,
                Bytes{0x41, 0x0e, 16, 0x44}.append(offset));
  const TablePtr table = build_ok(image);
  EXPECT_EQ(rule_at(table, 4), plain(7, 16));
  EXPECT_EQ(rule_at(table, 5), kNoCfiHere);
}

TEST(TableBuilder, LeavesOutFunctionsOutsideTheText) {
  CfiImage image;
  const std::size_t cie = image.add_cie();
  image.add_fde(cie, 0, 32, {});
  image.add_fde(cie, kText + CfiImage::kTextBytes - 8, 32, {});
  image.add_fde(cie, kText, 0, {});
  EXPECT_EQ(image.build().status, BuildStatus::kNoCfi);
}

TEST(TableBuilder, LeavesOutFunctionsOfUnknownCies) {
  for (const CieOptions& options :
       {CieOptions{.augmentation = "zX"}, CieOptions{.augmentation = "eh"},
        CieOptions{.version = 9}, CieOptions{.return_address = 30},
        CieOptions{.augmentation_data = {0x1f}}}) {
    CfiImage image;
    image.add_fde(image.add_cie(CfiImage::initial(), options), kText, 32, {});
    EXPECT_EQ(image.build().status, BuildStatus::kNoCfi);
  }
}

TEST(TableBuilder, SaysWhyThereIsNoTable) {
  CfiImage image;
  image.add_fde(image.add_cie(), kText, 32, {});
  const Bytes good = image.finish();
  Bytes spoilt = good;
  spoilt.put(0, std::uint8_t{0});
  EXPECT_EQ(CfiImage::build(spoilt).status, BuildStatus::kDamaged);
  spoilt = good;
  spoilt.put(offsetof(Elf64_Ehdr, e_machine), std::uint16_t{EM_AARCH64});
  EXPECT_EQ(CfiImage::build(spoilt).status, BuildStatus::kDamaged);
  spoilt = good;
  spoilt.put(offsetof(Elf64_Ehdr, e_phnum), std::uint16_t{3});
  EXPECT_EQ(CfiImage::build(spoilt).status, BuildStatus::kNoCfi);
  spoilt = good;
  spoilt.data.resize(CfiImage::kEhFrame);
  EXPECT_EQ(CfiImage::build(spoilt).status, BuildStatus::kUnreadable);
  EXPECT_EQ(CfiImage::build(Bytes{}).status, BuildStatus::kUnreadable);
}

TEST(TableBuilder, BoundsRememberedStates) {
  Bytes instructions;
  for (int i = 0; i < 100; ++i) instructions.append({0x0a});
  EXPECT_EQ(rule_at(build_function(instructions), 0), kNoCfiHere);
}

// Every byte of the image in turn gets a few other values: any result is accepted, but no fault.
TEST(TableBuilder, SurvivesEveryChangedByte) {
  CfiImage image;
  const std::size_t cie =
      image.add_cie(CfiImage::initial(),
                    {.augmentation = "zPLR", .augmentation_data = {0x9b, 1, 2, 3, 4, 0x1b, 0x1b}});
  image.add_fde(cie, kText, 64, {0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x44, 0x0f, 2, 0x77, 8, 0x0b});
  const Bytes good = image.finish();
  int built = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    if (at > 64 + 4 * 56 && at < 0x300) continue;  // nothing there
    if (at > 0x410 && at < CfiImage::kEhFrame) continue;
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      Bytes changed = good;
      changed.put(at, static_cast<std::uint8_t>(value));
      const BuildResult result = CfiImage::build(changed);
      EXPECT_EQ(result.table != nullptr, result.status == BuildStatus::kOk);
      built += result.table != nullptr;
      if (result.table != nullptr) static_cast<void>(result.table->find(kText));
      destroy_table(result.table);
    }
  }
  EXPECT_GT(built, 500);
}

}  // namespace
}  // namespace swipr::unwind
