// Every function of libraries is planned, or refused with a reason; instructions of each copy do
// what those of the function do, as Zydis reads both.
#include <Zydis/Zydis.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "preload/trace/plan/branches.h"
#include "preload/trace/plan/plan.h"
#include "tests/unit/preload/trace/file_functions.h"

namespace swipr::trace {
namespace {

struct Decoded {
  ZydisDecodedInstruction instruction;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
};

class Decoder {
 public:
  Decoder() { ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64); }
  Decoded decode(std::span<const std::uint8_t> code) const {
    Decoded out{};
    EXPECT_TRUE(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, code.data(), code.size(),
                                                    &out.instruction, out.operands.data())));
    return out;
  }

 private:
  ZydisDecoder decoder_;
};

// Mnemonic and, for relative operands, the absolute address.
std::string meaning(const Decoded& decoded, std::uint64_t address) {
  std::string text = ZydisMnemonicGetString(decoded.instruction.mnemonic);
  for (std::size_t index = 0; index < decoded.instruction.operand_count_visible; ++index) {
    const ZydisDecodedOperand& operand = decoded.operands[index];
    ZyanU64 absolute = 0;
    if (ZYAN_SUCCESS(
            ZydisCalcAbsoluteAddress(&decoded.instruction, &operand, address, &absolute))) {
      text += " " + std::to_string(absolute);
    } else if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      text += std::string(" ") + ZydisRegisterGetString(operand.reg.value);
    } else if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
      text += " $" + std::to_string(operand.imm.value.s);
    } else if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      text += std::string(" ") + ZydisRegisterGetString(operand.mem.segment) +
              std::to_string(operand.mem.disp.value) + ZydisRegisterGetString(operand.mem.base) +
              ZydisRegisterGetString(operand.mem.index) + std::to_string(operand.mem.scale);
    }
  }
  return text;
}

// What a call becomes: its return address is pushed, and a jump has its operand.
std::string meaning_of_call(const Decoder& decoder, std::span<const std::uint8_t> copy,
                            std::uint64_t address, std::uint64_t return_address) {
  const Decoded push = decoder.decode(copy);
  const Decoded store = decoder.decode(copy.subspan(push.instruction.length));
  const std::size_t at = push.instruction.length + store.instruction.length;
  EXPECT_EQ(static_cast<std::uint32_t>(push.operands[0].imm.value.u),
            static_cast<std::uint32_t>(return_address));
  EXPECT_EQ(static_cast<std::uint32_t>(store.operands[1].imm.value.u), return_address >> 32);
  std::string jump = meaning(decoder.decode(copy.subspan(at)), address + at);
  return jump.replace(0, 3, "call");
}

void expect_same_meaning(const Decoder& decoder, const Function& function, const Plan& plan) {
  constexpr std::uint64_t kBeside = 0x1000000;
  const std::uint64_t address = function.address + kBeside;
  std::array<std::uint8_t, Plan::kMostCopyBytes> copy{};
  ASSERT_EQ(build_copy(plan, function, address, copy), Refusal::kNone);
  bool falls_through = true;
  for (std::size_t index = 0; index < plan.moved_count; ++index) {
    const auto [from, to] = plan.moved[index];
    const Decoded original = decoder.decode(function.code.subspan(from));
    const std::string wanted = meaning(original, function.address + from);
    const auto moved = std::span(copy).subspan(to);
    const auto category = original.instruction.meta.category;
    const std::string found =
        category == ZYDIS_CATEGORY_CALL
            ? meaning_of_call(decoder, moved, address + to,
                              function.address + from + original.instruction.length)
            : meaning(decoder.decode(moved), address + to);
    EXPECT_EQ(found, wanted) << std::hex << function.address + from;
    falls_through = category != ZYDIS_CATEGORY_CALL && category != ZYDIS_CATEGORY_UNCOND_BR &&
                    category != ZYDIS_CATEGORY_RET;
  }
  if (!falls_through) return;
  const std::size_t at = plan.copy_bytes - kJumpBytes;
  EXPECT_EQ(meaning(decoder.decode(std::span(copy).subspan(at)), address + at),
            "jmp " + std::to_string(function.address + plan.end));
}

Refusal check_all(FileFunctions& file, std::size_t index, Plan& plan) {
  const auto& functions = file.functions();
  Refusal refusal = make_plan(functions[index], plan);
  if (refusal == Refusal::kNone) {
    refusal = check_jump_tables(functions[index], plan, file.addresses(), file.reader());
  }
  if (refusal == Refusal::kNone && index > 0) refusal = check_neighbour(functions[index - 1], plan);
  if (refusal == Refusal::kNone && index + 1 < functions.size()) {
    refusal = check_neighbour(functions[index + 1], plan);
  }
  return refusal;
}

class PlanSweep : public testing::TestWithParam<const char*> {};

TEST_P(PlanSweep, PlansMostFunctionsAndHasAReasonForTheOthers) {
  const auto paths = libraries({GetParam()});
  if (paths.empty()) GTEST_SKIP() << GetParam() << " is not installed";
  FileFunctions file(paths.front());
  const Decoder decoder;
  std::array<std::size_t, kRefusalCount> counts{};
  for (std::size_t index = 0; index < file.functions().size(); ++index) {
    Plan plan;
    const Refusal refusal = check_all(file, index, plan);
    ++counts[static_cast<std::size_t>(refusal)];
    if (refusal == Refusal::kNone) expect_same_meaning(decoder, file.functions()[index], plan);
    if (testing::Test::HasFailure()) break;
  }
  const std::size_t all = file.functions().size();
  std::printf("%s: %zu functions, %zu planned\n", GetParam(), all, counts[0]);
  for (std::size_t reason = 1; reason < kRefusalCount; ++reason) {
    std::printf("  %6zu because %s\n", counts[reason], refusal_text(static_cast<Refusal>(reason)));
  }
  EXPECT_GT(counts[0], all * 85 / 100);
}

// The search through all code: of some functions, because it takes milliseconds for each.
TEST_P(PlanSweep, FewFunctionsHaveFarBranchesIntoThem) {
  const auto paths = libraries({GetParam()});
  if (paths.empty()) GTEST_SKIP() << GetParam() << " is not installed";
  FileFunctions file(paths.front());
  std::size_t looked = 0;
  std::size_t refused = 0;
  for (std::size_t index = 0; index < file.functions().size();
       index += file.functions().size() / 40) {
    Plan plan;
    if (check_all(file, index, plan) != Refusal::kNone) continue;
    ++looked;
    refused += check_far_branches(file.text(), file.addresses().begin, plan) != Refusal::kNone;
  }
  EXPECT_GT(looked, 20u);
  EXPECT_LE(refused, 1u);
}

INSTANTIATE_TEST_SUITE_P(Libraries, PlanSweep,
                         testing::Values("libc.so.6", "libstdc++.so.6", "libcrypto.so.3"));

}  // namespace
}  // namespace swipr::trace
