#include "preload/unwind/base/registers.h"
#include "preload/unwind/derived/frame_state.h"

namespace swipr::unwind {

namespace {

// Numbers in instructions.
constexpr unsigned kBase = 3;
constexpr unsigned kStack = 4;
constexpr unsigned kFrame = 5;

constexpr std::uint8_t kWide = 0x48;  // REX.W; bit 0: REX.B, bit 2: REX.R

std::int16_t offset_of(std::int32_t distance) noexcept {
  constexpr std::int32_t kMost = INT16_MAX;
  return distance <= kMost ? static_cast<std::int16_t>(-distance) : Rule::kKept;
}

struct Operands {
  unsigned field;  // ModRM.reg
  unsigned other;  // ModRM.rm
  unsigned mode;
};
Operands operands_of(std::span<const std::uint8_t> code) noexcept {
  return {(code[2] >> 3 & 7u) | (code[0] & 4u) << 1, (code[2] & 7u) | (code[0] & 1u) << 3,
          static_cast<unsigned>(code[2] >> 6)};
}

}  // namespace

void FrameState::take(std::int64_t bytes) noexcept {
  constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;  // of one frame
  const std::int64_t taken = stack + bytes;
  if (stack != kUnknown && (taken < 0 || taken > kMostBytes)) stack = kUnknown;
  if (stack != kUnknown) stack = static_cast<std::int32_t>(taken);
}

void FrameState::push(std::uint8_t opcode, bool extended) noexcept {
  take(8);
  if (stack == kUnknown || extended) return;
  if (opcode == 0x50 + kFrame && saved_frame == Rule::kKept && frame == kUnknown) {
    saved_frame = offset_of(stack);
  }
  if (opcode == 0x50 + kBase && saved_base == Rule::kKept) saved_base = offset_of(stack);
}

void FrameState::pop(std::uint8_t opcode, bool extended) noexcept {
  if (!extended && opcode == 0x58 + kStack) stack = kUnknown;
  if (stack == kUnknown) return;
  if (!extended && opcode == 0x58 + kFrame) {
    if (saved_frame == offset_of(stack)) saved_frame = Rule::kKept;
    frame = kUnknown;
  }
  if (!extended && opcode == 0x58 + kBase && saved_base == offset_of(stack)) {
    saved_base = Rule::kKept;
  }
  take(-8);
}

// mov between the stack pointer and the frame pointer; lea n(%rbp),%rsp
bool FrameState::move(std::span<const std::uint8_t> code,
                      const machine::Instruction& instruction) noexcept {
  if ((code[0] & 0xfa) != kWide) return false;
  const Operands operands = operands_of(code);
  const bool is_store = code[1] == 0x89;
  if (operands.mode == 3 && (is_store || code[1] == 0x8b)) {
    const unsigned to = is_store ? operands.other : operands.field;
    const unsigned from = is_store ? operands.field : operands.other;
    if (to == kFrame && from == kStack) frame = stack;
    if (to == kStack && from == kFrame) stack = frame;
    return (to == kFrame && from == kStack) || (to == kStack && from == kFrame);
  }
  const bool is_lea = code[1] == 0x8d && operands.field == kStack && operands.other == kFrame &&
                      (operands.mode == 1 || operands.mode == 2);
  if (is_lea) {
    stack = frame;
    take(-std::int64_t{instruction.displacement});
  }
  return is_lea;
}

// All other writes to the stack pointer and to the frame pointer: alignment, loads, arithmetic.
void FrameState::drop(std::span<const std::uint8_t> code) noexcept {
  if ((code[0] & 0xfa) != kWide) return;
  const Operands operands = operands_of(code);
  const std::uint8_t opcode = code[1];
  const bool is_arithmetic = opcode < 0x40 && (opcode & 7) < 4 && opcode >> 3 != 7;
  const bool writes_other = opcode == 0x81 || opcode == 0x83 || opcode == 0x89 || opcode == 0xc7 ||
                            (is_arithmetic && (opcode & 2) == 0);
  const bool writes_field =
      opcode == 0x8b || opcode == 0x8d || (is_arithmetic && (opcode & 2) != 0);
  const auto is_written = [&](unsigned number) {
    return (writes_other && operands.mode == 3 && operands.other == number) ||
           (writes_field && operands.field == number);
  };
  if (is_written(kStack)) stack = kUnknown;
  if (is_written(kFrame)) frame = kUnknown;
}

void FrameState::execute(const machine::Instruction& instruction,
                         std::span<const std::uint8_t> code) noexcept {
  if (!instruction.is_plain) return;
  const std::uint8_t opcode = instruction.opcode;
  const bool clears_frame = (opcode == 0x31 || opcode == 0x33) && instruction.modrm == 0xed &&
                            !instruction.extends_operand;
  if (opcode >= 0x50 && opcode <= 0x57) {
    push(opcode, instruction.extends_operand);
  } else if (opcode >= 0x58 && opcode <= 0x5f) {
    pop(opcode, instruction.extends_operand);
  } else if (opcode == 0xc9) {  // leave
    stack = frame;
    pop(0x58 + kFrame, false);
  } else if (clears_frame && saved_frame == Rule::kKept && frame == kUnknown) {
    is_outermost = true;
  } else if (const std::int64_t taken = machine::stack_bytes_taken(instruction, code); taken != 0) {
    take(taken);
  } else if (!move(code, instruction)) {
    drop(code);
  }
}

Rule FrameState::rule() const noexcept {
  Rule rule;
  if (is_outermost) rule.flags = kRuleRoot;
  if (is_outermost) return rule;
  const bool by_stack = stack != kUnknown && stack >= 8;
  if (!by_stack && (frame == kUnknown || frame < 8)) return {.flags = kRuleNone};
  rule.cfa_register = static_cast<std::uint8_t>(by_stack ? kRsp : kRbp);
  rule.cfa_offset = by_stack ? stack : frame;
  rule.saved_frame = saved_frame;
  rule.saved_base = saved_base;
  return rule;
}

}  // namespace swipr::unwind
