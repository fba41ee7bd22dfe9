#include "preload/machine/instruction_x86_64.h"
#include "preload/trace/plan/code_piece.h"
#include "preload/trace/plan/return_address.h"

namespace swipr::trace {

namespace {

using machine::Instruction;

constexpr std::uint8_t kLea = 0x8d;

bool is_pop(const Instruction& instruction) noexcept {
  return instruction.is_plain &&
         ((instruction.opcode >= 0x58 && instruction.opcode <= 0x5f) || instruction.opcode == 0x8f);
}

bool has_memory(const Instruction& instruction) noexcept {
  const bool is_lea = instruction.is_plain && instruction.opcode == kLea;
  return instruction.modrm >> 6 != 3 && !is_lea;
}

// n(%rsp), without an index.
bool is_at_stack(const Instruction& instruction, std::span<const std::uint8_t> code,
                 std::int64_t& offset) noexcept {
  if (!has_memory(instruction) || (instruction.modrm & 7) != 4) return false;
  constexpr std::uint8_t kStackOnly = 0x24;
  // ModRM, SIB, displacement, immediate: SIB is behind ModRM, which is found from its value.
  for (std::size_t at = 0; at + 1 < instruction.bytes; ++at) {
    if (code[at] != instruction.modrm || (code[at + 1] & 0x3f) != kStackOnly) continue;
    offset = instruction.displacement;
    return true;
  }
  return false;
}

// 8(%rbp)
bool is_above_frame(const Instruction& instruction) noexcept {
  const unsigned mode = instruction.modrm >> 6;
  return has_memory(instruction) && (mode == 1 || mode == 2) && (instruction.modrm & 7) == 5 &&
         !instruction.extends_operand && instruction.displacement == 8;
}

bool always_leaves(const Instruction& instruction) noexcept {
  if (!instruction.is_plain) return false;
  const std::uint8_t opcode = instruction.opcode;
  return opcode == 0xc2 || opcode == 0xc3 || opcode == 0xe9 || opcode == 0xeb ||
         (opcode == 0xff && (instruction.modrm >> 3 & 7) == 4);
}

// mov %rsp,%rbp
bool makes_frame(std::span<const std::uint8_t> code) noexcept {
  return code[0] == 0x48 &&
         ((code[1] == 0x89 && code[2] == 0xe5) || (code[1] == 0x8b && code[2] == 0xec));
}

}  // namespace

bool reads_return_address(const Function& function) noexcept {
  constexpr std::int64_t kWord = 8;
  std::int64_t depth = 0;
  bool follows_stack = true;
  bool has_frame = false;
  for (std::size_t at = 0; at < function.code.size();) {
    const CodePiece piece(function.code, at);
    const Instruction instruction = piece.decode();
    if (instruction.bytes == 0) return false;  // refused elsewhere
    std::int64_t offset = 0;
    if (has_frame && is_above_frame(instruction)) return true;
    if (follows_stack) {
      if (is_pop(instruction) && depth == 0) return true;
      if (is_at_stack(instruction, piece.bytes(), offset) && offset == depth) return true;
      has_frame = has_frame || (depth == kWord && makes_frame(piece.bytes()));
      depth += machine::stack_bytes_taken(instruction, piece.bytes());
      follows_stack = !always_leaves(instruction);
    }
    if (!follows_stack && !has_frame) return false;
    at += instruction.bytes;
  }
  return false;
}

}  // namespace swipr::trace
