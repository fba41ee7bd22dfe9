#include <algorithm>
#include <cstring>

#include "preload/machine/instruction_x86_64.h"
#include "preload/trace/plan/branches.h"
#include "preload/trace/plan/code_piece.h"
#include "preload/trace/plan/plan.h"
#include "preload/trace/plan/return_address.h"

namespace swipr::trace {

namespace {

using machine::Instruction;

constexpr std::uint8_t kCallOpcode = 0xe8, kJumpOpcode = 0xe9, kShortJumpOpcode = 0xeb;
constexpr std::uint8_t kGroup5 = 0xff;

constexpr bool is_in(std::uint8_t value, std::uint8_t first, std::uint8_t last) noexcept {
  return value >= first && value <= last;
}

// What ModRM.reg selects of opcode FF.
unsigned selected(const Instruction& instruction) noexcept { return instruction.modrm >> 3 & 7; }

enum class Kind : std::uint8_t {
  kPlain,        // its bytes can be executed elsewhere; a displacement from RIP is adapted
  kConditional,  // becomes 0F 8x rel32
  kJump,         // becomes E9 rel32
  kCall,         // pushes the original return address, jumps
  kIndirectCall,
  kEnd,  // return or indirect jump: its bytes, and nothing is executed behind it
  kSystemCall,
  kUnmovable,
};

Kind kind_of_second(std::uint8_t opcode) noexcept {
  switch (opcode) {
    case 0x05:  // SYSCALL
    case 0x34:  // SYSENTER
      return Kind::kSystemCall;
    case 0x0b:  // UD0, UD1, UD2: a handler of the program may look where they are
    case 0xb9:
    case 0xff:
    case 0xaa:  // RSM
      return Kind::kUnmovable;
    default:
      return is_in(opcode, 0x80, 0x8f) ? Kind::kConditional : Kind::kPlain;
  }
}

Kind kind_of_plain(const Instruction& instruction) noexcept {
  const std::uint8_t opcode = instruction.opcode;
  if (is_in(opcode, 0x70, 0x7f)) return Kind::kConditional;
  if (is_in(opcode, 0xe0, 0xe3)) return Kind::kUnmovable;  // LOOP, JRCXZ: one byte of distance
  switch (opcode) {
    case kCallOpcode:
      return Kind::kCall;
    case kJumpOpcode:
    case kShortJumpOpcode:
      return Kind::kJump;
    case 0xc2:
    case 0xc3:
      return Kind::kEnd;
    case 0xcd:  // INT n
      return Kind::kSystemCall;
    case 0xcc:  // INT3
    case 0xcf:  // IRET
    case 0xca:  // far returns
    case 0xcb:
    case 0xf1:
    case 0xf4:  // HLT
      return Kind::kUnmovable;
    case 0xc7:
      return machine::is_relative_branch(instruction) ? Kind::kUnmovable : Kind::kPlain;  // XBEGIN
    case kGroup5:
      if (selected(instruction) == 2) return Kind::kIndirectCall;
      if (selected(instruction) == 4) return Kind::kEnd;
      return selected(instruction) == 6 || selected(instruction) < 2 ? Kind::kPlain
                                                                     : Kind::kUnmovable;
    default:
      return Kind::kPlain;
  }
}

// The operand of an indirect call is RSP, or in memory that RSP leads to: pushing changes it.
bool depends_on_stack(const Instruction& instruction, const std::uint8_t* code) noexcept {
  constexpr unsigned kStack = 4;
  if ((instruction.modrm & 7) != kStack) return false;
  const bool is_register = instruction.modrm >> 6 == 3;
  const std::size_t sib_at = instruction.prefix_bytes + 2u;
  // With REX.B it is r12: not distinguished, for that is rare.
  return is_register || (code[sib_at] & 7) == kStack || code[0] != kGroup5;
}

Kind kind_of(const Instruction& instruction, const std::uint8_t* code) noexcept {
  Kind kind = Kind::kPlain;
  if (instruction.is_plain) kind = kind_of_plain(instruction);
  if (instruction.is_second) kind = kind_of_second(instruction.opcode);
  // Prefixes of branches are hints, or change their meaning from one manufacturer to the other.
  const bool has_prefix = instruction.is_plain && code[0] != instruction.opcode;
  const bool has_second_prefix = instruction.is_second && code[0] != 0x0f;
  const bool is_direct = kind == Kind::kConditional || kind == Kind::kJump || kind == Kind::kCall;
  if (is_direct && (has_prefix || has_second_prefix)) return Kind::kUnmovable;
  if (kind == Kind::kIndirectCall && depends_on_stack(instruction, code)) return Kind::kUnmovable;
  constexpr std::uint8_t kAddressSize = 0x67;
  if (instruction.is_rip_relative && std::find(code, code + instruction.prefix_bytes,
                                               kAddressSize) != code + instruction.prefix_bytes) {
    return Kind::kUnmovable;  // counts from EIP
  }
  return kind;
}

bool is_last(Kind kind) noexcept {
  return kind == Kind::kJump || kind == Kind::kEnd || kind == Kind::kCall ||
         kind == Kind::kIndirectCall;
}

// push $low; movl $high,4(%rsp)
constexpr std::size_t kPushAddressBytes = 5 + 8;

std::size_t bytes_in_copy(Kind kind, std::size_t bytes) noexcept {
  switch (kind) {
    case Kind::kConditional:
      return 6;
    case Kind::kJump:
      return kJumpBytes;
    case Kind::kCall:
      return kPushAddressBytes + kJumpBytes;
    case Kind::kIndirectCall:
      return kPushAddressBytes + bytes;
    default:
      return bytes;
  }
}

// Writes the copy from its begin to its end.
class CopyWriter {
 public:
  CopyWriter(std::uint64_t address, std::span<std::uint8_t> out) noexcept
      : address_(address), out_(out) {}

  bool is_too_far() const noexcept { return is_too_far_; }
  std::uint64_t here() const noexcept { return address_ + at_; }
  void put(std::span<const std::uint8_t> bytes) noexcept {
    std::memcpy(out_.data() + at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void put(std::uint8_t byte) noexcept { put(std::span(&byte, 1)); }
  void put_word(std::uint32_t value) noexcept {
    std::uint8_t bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    put(bytes);
  }
  // The distance to `target` from the end of these four bytes, and of `behind` more.
  void put_distance(std::uint64_t target, std::size_t behind = 0) noexcept {
    const auto distance = static_cast<std::int64_t>(target - (here() + 4 + behind));
    is_too_far_ = is_too_far_ || distance != static_cast<std::int32_t>(distance);
    put_word(static_cast<std::uint32_t>(distance));
  }
  void put_jump(std::uint64_t target) noexcept {
    put(kJumpOpcode);
    put_distance(target);
  }
  void put_push(std::uint64_t address) noexcept {
    put(0x68);
    put_word(static_cast<std::uint32_t>(address));
    put(std::to_array<std::uint8_t>({0xc7, 0x44, 0x24, 0x04}));
    put_word(static_cast<std::uint32_t>(address >> 32));
  }
  // `pc`: where the instruction is in the function.
  void put_moved(const Instruction& instruction, std::span<const std::uint8_t> code,
                 std::uint64_t pc) noexcept {
    if (!instruction.is_rip_relative) return put(code);
    const std::uint64_t target =
        pc + code.size() + static_cast<std::uint64_t>(std::int64_t{instruction.displacement});
    const std::size_t behind = instruction.displacement_at + sizeof(std::uint32_t);
    put(code.first(instruction.displacement_at));
    put_distance(target, code.size() - behind);
    put(code.subspan(behind));
  }

 private:
  std::uint64_t address_;
  std::span<std::uint8_t> out_;
  std::size_t at_ = 0;
  bool is_too_far_ = false;
};

void write_moved(const Instruction& instruction, const CodePiece& piece, std::uint64_t pc,
                 CopyWriter& writer) noexcept {
  const auto code = piece.bytes().first(instruction.bytes);
  const std::uint64_t behind = pc + instruction.bytes;
  const std::uint64_t target = behind + static_cast<std::uint64_t>(instruction.immediate);
  switch (kind_of(instruction, code.data())) {
    case Kind::kConditional:
      writer.put(0x0f);
      writer.put(static_cast<std::uint8_t>(0x80 | (instruction.opcode & 0xf)));
      return writer.put_distance(target);
    case Kind::kJump:
      return writer.put_jump(target);
    case Kind::kCall:
      writer.put_push(behind);
      return writer.put_jump(target);
    case Kind::kIndirectCall: {
      // The same operand with JMP: ModRM.reg 4 instead of 2.
      std::uint8_t jump[machine::kLongestInstruction];
      std::memcpy(jump, code.data(), code.size());
      const std::size_t modrm_at =
          static_cast<std::size_t>(std::find(jump, jump + code.size(), kGroup5) + 1 - jump);
      jump[modrm_at] = static_cast<std::uint8_t>((jump[modrm_at] & 0xc7) | 4 << 3);
      writer.put_push(behind);
      return writer.put_moved(instruction, std::span(jump).first(code.size()), pc);
    }
    default:
      return writer.put_moved(instruction, code, pc);
  }
}

Refusal check_first(const Function& function, std::size_t at) noexcept {
  constexpr std::uint64_t kWord = 8;
  const std::uint64_t patch = function.address + at;
  return patch / kWord == (patch + kGateBytes - 1) / kWord ? Refusal::kNone
                                                           : Refusal::kGateInTwoWords;
}

// All instructions from the function's begin to the first one behind the patch.
Refusal take_instructions(const Function& function, Plan& plan) noexcept {
  std::size_t at = 0;
  std::size_t copied = 0;
  const std::size_t behind_patch = plan.patch_at + kJumpBytes;
  bool falls_through = true;
  while (at < behind_patch) {
    const CodePiece piece(function.code, at);
    const Instruction instruction = piece.decode();
    if (!falls_through || at >= function.code.size()) return Refusal::kTooShort;
    if (instruction.bytes == 0) return Refusal::kUndecodable;
    if (at == plan.patch_at && instruction.bytes < kGateBytes) return Refusal::kOneByteFirst;
    const Kind kind = kind_of(instruction, piece.bytes().data());
    if (kind == Kind::kSystemCall) return Refusal::kSystemCall;
    if (kind == Kind::kUnmovable) return Refusal::kUnmovable;
    plan.moved[plan.moved_count++] = {static_cast<std::uint8_t>(at),
                                      static_cast<std::uint8_t>(copied)};
    at += instruction.bytes;
    copied += bytes_in_copy(kind, instruction.bytes);
    falls_through = !is_last(kind);
    const bool is_call = kind == Kind::kCall || kind == Kind::kIndirectCall;
    if (is_call && at < behind_patch) return Refusal::kCallInPatch;
  }
  plan.end = static_cast<std::uint8_t>(at);
  plan.jump_at = static_cast<std::uint8_t>(copied);
  plan.copy_bytes = static_cast<std::uint8_t>(copied + (falls_through ? kJumpBytes : 0));
  return Refusal::kNone;
}
// Of the four instructions at most two are before the fifth byte and grow: conditional jumps.
static_assert(kMostKeptBytes + 2 * 6 + kPushAddressBytes + machine::kLongestInstruction +
                  kJumpBytes <=
              Plan::kMostCopyBytes);

}  // namespace

Refusal make_plan(const Function& function, Plan& plan) noexcept {
  plan = {.function = function.address};
  while (plan.patch_at < std::min(kMostKeptBytes, function.code.size()) &&
         is_in(function.code[plan.patch_at], 0x50, 0x57)) {
    ++plan.patch_at;
  }
  if (function.code.size() < plan.patch_at + kJumpBytes) return Refusal::kTooShort;
  if (const Refusal refusal = take_instructions(function, plan); refusal != Refusal::kNone) {
    return refusal;
  }
  if (const Refusal refusal = check_first(function, plan.patch_at); refusal != Refusal::kNone) {
    return refusal;
  }
  if (reads_return_address(function)) return Refusal::kReadsReturnAddress;
  return check_own_branches(function, plan);
}

Refusal build_copy(const Plan& plan, const Function& function, std::uint64_t copy,
                   std::span<std::uint8_t, Plan::kMostCopyBytes> out) noexcept {
  CopyWriter writer(copy, out);
  for (std::size_t index = 0; index < plan.moved_count; ++index) {
    const CodePiece piece(function.code, plan.moved[index].from);
    write_moved(piece.decode(), piece, plan.function + plan.moved[index].from, writer);
  }
  if (writer.here() < copy + plan.copy_bytes) writer.put_jump(plan.function + plan.end);
  return writer.is_too_far() ? Refusal::kTooFar : Refusal::kNone;
}

std::uint64_t Plan::original_pc(std::uint64_t pc, std::uint64_t copy) const noexcept {
  if (jump_at < copy_bytes && pc >= copy + jump_at) return function + end;
  std::uint64_t original = function;
  for (std::size_t index = 0; index < moved_count && copy + moved[index].to <= pc; ++index) {
    original = function + moved[index].from;
  }
  return original;
}

// Only a call has several instructions in the copy, of which the first pushes.
bool Plan::has_pushed_in_copy(std::uint64_t pc, std::uint64_t copy) const noexcept {
  const std::uint64_t last = copy + moved[moved_count - 1u].to;
  return pc > last && pc < copy + jump_at;
}

}  // namespace swipr::trace
