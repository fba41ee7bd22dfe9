// swipr's decoder of instructions, compared with Zydis's.
#include <Zydis/Zydis.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "preload/machine/instruction_x86_64.h"
#include "tests/unit/preload/trace/file_functions.h"

namespace swipr::machine {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += ::testing::PrintToString(int{byte}) + " ";
  return text;
}

class Zydis {
 public:
  Zydis() { ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64); }
  bool decode(std::span<const std::uint8_t> code, ZydisDecodedInstruction& out) const {
    return ZYAN_SUCCESS(
        ZydisDecoderDecodeInstruction(&decoder_, nullptr, code.data(), code.size(), &out));
  }

 private:
  ZydisDecoder decoder_;
};

// "": they agree.
std::string difference(std::span<const std::uint8_t> code, const Instruction& own,
                       const ZydisDecodedInstruction& theirs) {
  if (own.bytes != theirs.length) return "length";
  const bool is_relative = (theirs.attributes & ZYDIS_ATTRIB_IS_RELATIVE) != 0;
  const bool is_memory = theirs.raw.modrm.offset != 0 && theirs.raw.modrm.mod == 0 &&
                         theirs.raw.modrm.rm == 5 && is_relative;
  if (own.is_rip_relative != is_memory) return "RIP-relative";
  if (is_memory && (own.displacement_at != theirs.raw.disp.offset ||
                    own.displacement != theirs.raw.disp.value)) {
    return "displacement";
  }
  const bool is_branch = is_relative && !is_memory;
  if (is_relative_branch(own) != is_branch) return "branch";
  if (is_branch && own.immediate != theirs.raw.imm[0].value.s) return "distance";
  (void)code;
  return "";
}

TEST(InstructionOracle, AgreesAboutAllCodeOfLibraries) {
  const Zydis zydis;
  std::size_t instructions = 0;
  for (const std::string& path :
       trace::libraries({"libc.so.6", "libstdc++.so.6", "libcrypto.so.3"})) {
    const trace::FileFunctions file(path);
    for (const trace::Function& function : file.functions()) {
      Bytes code(function.code.begin(), function.code.end());
      code.resize(code.size() + kLongestInstruction);
      for (std::size_t at = 0; at < function.code.size(); ++instructions) {
        const auto here = std::span(code).subspan(at, kLongestInstruction);
        ZydisDecodedInstruction theirs;
        if (!zydis.decode(here, theirs)) break;  // data among code
        const Instruction own = decode_instruction(here);
        ASSERT_EQ(difference(here, own, theirs), "")
            << path << " " << std::hex << function.address + at << " "
            << hex(here.first(theirs.length));
        at += theirs.length;
      }
    }
  }
  RecordProperty("instructions", static_cast<int>(instructions));
  EXPECT_GT(instructions, 300'000u);
}

TEST(InstructionOracle, AgreesAboutXop) {
  const Zydis zydis;
  for (const Bytes& code : {Bytes{0x8f, 0xe8, 0x78, 0xc0, 0xc1, 0x05},           // vprotb $5
                            Bytes{0x8f, 0xe9, 0x78, 0x01, 0xc8},                 // blcfill
                            Bytes{0x8f, 0xea, 0x78, 0x10, 0xc1, 1, 2, 3, 4},     // bextr
                            Bytes{0x8f, 0xe9, 0x78, 0x80, 0x05, 1, 0, 0, 0}}) {  // vfrczps 1(%rip)
    Bytes padded = code;
    padded.resize(kLongestInstruction);
    ZydisDecodedInstruction theirs;
    ASSERT_TRUE(zydis.decode(padded, theirs)) << hex(code);
    EXPECT_EQ(difference(padded, decode_instruction(padded), theirs), "") << hex(code);
  }
  EXPECT_EQ(decode_instruction(Bytes{0x8f, 0xc0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}).bytes, 2u);
}

// Moves of control and debug registers are for the kernel; K1OM is the first Xeon Phi's.
bool is_out_of_scope(const ZydisDecodedInstruction& theirs) {
  const bool is_privileged =
      theirs.opcode_map == ZYDIS_OPCODE_MAP_0F && theirs.opcode >= 0x20 && theirs.opcode <= 0x23;
  return is_privileged || theirs.encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX ||
         theirs.meta.isa_ext == ZYDIS_ISA_EXT_KNC || theirs.meta.isa_ext == ZYDIS_ISA_EXT_KNCE ||
         theirs.meta.isa_ext == ZYDIS_ISA_EXT_KNCV || theirs.meta.isa_set == ZYDIS_ISA_SET_KNCJKBR;
}

// Code that compilers do not make: what Zydis accepts has the same length here, or none.
TEST(InstructionOracle, AgreesAboutMostRandomBytes) {
  const Zydis zydis;
  std::mt19937_64 random(7);
  std::size_t accepted = 0;
  std::size_t different = 0;
  for (int round = 0; round < 300'000; ++round) {
    Bytes code(kLongestInstruction);
    for (std::uint8_t& byte : code) byte = static_cast<std::uint8_t>(random());
    ZydisDecodedInstruction theirs;
    if (!zydis.decode(code, theirs) || is_out_of_scope(theirs)) continue;
    ++accepted;
    const Instruction own = decode_instruction(code);
    const std::string what = difference(code, own, theirs);
    if (what.empty() || own.bytes == 0) continue;
    if (++different < 10)
      ADD_FAILURE() << what << ": " << hex(code) << ZydisMnemonicGetString(theirs.mnemonic);
  }
  EXPECT_GT(accepted, 200'000u);
}

}  // namespace
}  // namespace swipr::machine
