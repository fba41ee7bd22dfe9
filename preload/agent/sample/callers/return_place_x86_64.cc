#include "preload/agent/sample/callers/return_place.h"
#include "preload/machine/instruction_x86_64.h"

namespace swipr::agent {

namespace {

// The largest kernels of OpenBLAS have 40 KiB of code.
constexpr std::size_t kFollowedBytes = std::size_t{64} << 10;

// Follows the stack pointer from instruction to instruction. Source: Intel SDM volume 2.
class StackPointer {
 public:
  StackPointer() noexcept {
    for (unsigned reg = 0; reg < places_.size(); ++reg) places_[reg] = StackPlace{.reg = reg};
  }
  const std::optional<StackPlace>& place() const noexcept { return places_[unwind::kRsp]; }

  void execute(const machine::Instruction& instruction,
               std::span<const std::uint8_t> code) noexcept {
    constexpr std::uint8_t kLeave = 0xc9;
    std::optional<StackPlace>& stack = places_[unwind::kRsp];
    if (!instruction.is_plain) return;
    if (instruction.opcode == kLeave) {
      stack = places_[unwind::kRbp];
      if (stack) stack->offset += 8;
    } else if (const std::int64_t taken = machine::stack_bytes_taken(instruction, code);
               taken != 0) {
      if (stack) stack->offset -= taken;
    } else if (!move(code)) {
      drop(code);
    }
  }

 private:
  static constexpr std::uint8_t kWide = 0x48;  // REX.W; bit 0: REX.B, bit 2: REX.R
  static constexpr std::uint8_t kStackNumber = 4;

  // Register numbers of instructions to those of DWARF (System V AMD64 ABI, figure 3.36).
  static unsigned dwarf_of(unsigned number) noexcept {
    constexpr std::uint8_t kNumbers[] = {0, 2, 1, 3, 7, 6, 4, 5};
    return number < 8 ? kNumbers[number] : number;
  }
  static bool is_wide(std::span<const std::uint8_t> code) noexcept {
    return (code[0] & 0xfa) == kWide;
  }

  // mov %rsp,%reg; mov %reg,%rsp; lea n(%reg),%rsp
  bool move(std::span<const std::uint8_t> code) noexcept {
    if (!is_wide(code)) return false;
    const unsigned field = (code[2] >> 3 & 7u) | (code[0] & 4u) << 1;
    const unsigned operand = (code[2] & 7u) | (code[0] & 1u) << 3;
    const unsigned mode = code[2] >> 6;
    const bool is_store = code[1] == 0x89;
    if (mode == 3 && (is_store || code[1] == 0x8b)) {
      const unsigned to = is_store ? operand : field;
      const unsigned from = is_store ? field : operand;
      if (to != kStackNumber && from != kStackNumber) return false;
      places_[dwarf_of(to)] = places_[dwarf_of(from)];
      return true;
    }
    const bool is_lea = code[1] == 0x8d && field == kStackNumber && (mode == 1 || mode == 2);
    if (!is_lea || (operand & 7) == kStackNumber) return false;
    const machine::Instruction lea = machine::decode_instruction(code);
    places_[unwind::kRsp] = places_[dwarf_of(operand)];
    if (places_[unwind::kRsp]) places_[unwind::kRsp]->offset += lea.displacement;
    return true;
  }

  // All other writes to the stack pointer: `and` of an alignment, loads, arithmetic with registers.
  void drop(std::span<const std::uint8_t> code) noexcept {
    if (!is_wide(code)) return;
    const unsigned field = (code[2] >> 3 & 7u) | (code[0] & 4u) << 1;
    const unsigned operand = (code[2] & 7u) | (code[0] & 1u) << 3;
    const bool to_operand = code[2] >> 6 == 3 && operand == kStackNumber;
    const std::uint8_t opcode = code[1];
    const bool is_arithmetic = opcode < 0x40 && (opcode & 7) < 4 && opcode >> 3 != 7;
    const bool writes_operand =
        opcode == 0x81 || opcode == 0x83 || opcode == 0xc7 || (is_arithmetic && (opcode & 2) == 0);
    const bool writes_field =
        opcode == 0x8b || opcode == 0x8d || (is_arithmetic && (opcode & 2) != 0);
    if ((writes_operand && to_operand) || (writes_field && field == kStackNumber)) {
      places_[unwind::kRsp] = std::nullopt;
    }
  }

  std::array<std::optional<StackPlace>, 16> places_;
};

// Jumps that are always taken; 0: none.
std::uint64_t jump_target(const machine::Instruction& instruction, std::uint64_t behind) noexcept {
  const bool is_jump =
      instruction.is_plain && (instruction.opcode == 0xe9 || instruction.opcode == 0xeb);
  return is_jump ? behind + static_cast<std::uint64_t>(instruction.immediate) : 0;
}

bool is_return(const machine::Instruction& instruction) noexcept {
  return instruction.is_plain && instruction.opcode == 0xc3;
}

}  // namespace

std::optional<StackPlace> follow_to_return(const ProcMemory& memory, const CodeGap& gap) noexcept {
  StackPointer stack;
  std::uint64_t address = gap.pc();
  for (std::size_t followed = 0; followed < kFollowedBytes;) {
    const Code code(memory, address, address + Code::kPieceBytes);
    const std::uint64_t begin = address;
    std::uint64_t target = 0;
    for (std::size_t at = 0; code.is_inside(at) && target == 0; address = code.address(at)) {
      const machine::Instruction instruction = machine::decode_instruction(code.from(at));
      if (instruction.bytes == 0 || !gap.contains(address)) return std::nullopt;
      if (is_return(instruction)) return stack.place();
      stack.execute(instruction, code.from(at));
      at += instruction.bytes;
      followed += instruction.bytes;
      target = jump_target(instruction, code.address(at));
      if (target != 0 && !gap.contains(target)) return stack.place();  // a call in tail position
      if (target < code.address(at)) target = 0;                       // a loop: continue after it
    }
    if (address == begin) return std::nullopt;  // unreadable
    if (target != 0) address = target;
  }
  return std::nullopt;
}

}  // namespace swipr::agent
