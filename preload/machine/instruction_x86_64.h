// Lengths and operands of x86-64 instructions: what is needed to follow a function's code from its
// entry and to execute a copy of it elsewhere.
// Source: Intel SDM volume 2, appendix A (opcode maps) and chapter 2 (formats).
// Context: anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "preload/machine/instruction_bytes.h"

namespace swipr::machine {

struct Instruction {
  std::size_t bytes = 0;         // 0: not an instruction, or truncated
  std::uint8_t opcode = 0;       // the byte after the prefixes, if `is_plain`
  std::uint8_t modrm = 0;        // 0: none
  bool is_plain = false;         // of the one-byte map, without VEX or EVEX
  bool is_second = false;        // `opcode` is the byte after 0F
  bool extends_operand = false;  // REX.B: the register in opcode or ModRM.rm is r8 to r15
  std::int64_t immediate = 0;    // sign-extended; of 1 or 4 bytes, else 0
  std::int32_t displacement = 0;
  std::uint8_t displacement_at = 0;  // where its 4 bytes are, if `is_rip_relative`
  std::uint8_t prefix_bytes = 0;     // legacy prefixes, REX not counted
  bool is_rip_relative = false;      // `displacement` counts from the instruction's end
};

Instruction decode_instruction(std::span<const std::uint8_t> code) noexcept;

// Direct jumps, conditional or not, direct calls, loops, XBEGIN: `immediate` is the distance from
// the instruction's end to the target.
bool is_relative_branch(const Instruction& instruction) noexcept;

// Jumps, calls, returns: the next instruction is not, or not only, reached from here.
bool ends_straight_code(const Instruction& instruction) noexcept;

// Stack space that it reserves: pushes, pops (negative), and constants that are added to or
// subtracted from RSP. Other changes of RSP are not recognised and count as 0.
std::int64_t stack_bytes_taken(const Instruction& instruction,
                               std::span<const std::uint8_t> code) noexcept;

}  // namespace swipr::machine
