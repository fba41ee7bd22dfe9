#include "preload/unwind/cfi/cfi_program.h"

#include "preload/unwind/base/architecture.h"
#include "preload/unwind/cfi/cfi_instruction.h"
#include "preload/unwind/cfi/encoded_pointer.h"

namespace swipr::unwind {
namespace {

using namespace cfi;

constexpr bool fits_int32(std::int64_t value) { return value == static_cast<std::int32_t>(value); }

}  // namespace

CfiProgram::CfiProgram(const CfiSection& section, const Cie& cie, const CfiState& initial,
                       const Fde& fde, RememberedStates& remembered) noexcept
    : section_(section),
      cie_(cie),
      initial_(initial),
      instructions_(fde.instructions),
      cursor_(fde.instructions),
      location_(fde.code.begin),
      state_(initial),
      remembered_(remembered) {}

bool CfiProgram::run_initial(const CfiSection& section, const Cie& cie,
                             RememberedStates& remembered, CfiState& state) noexcept {
  const CfiState empty;
  const Fde instructions{.code = {}, .instructions = cie.instructions};
  CfiProgram program(section, cie, empty, instructions, remembered);
  std::uint64_t location = 0;
  for (std::size_t position = 0; position < cie.instructions.size();) {
    if (!program.execute(position, location) || location != 0) return false;
  }
  state = program.state();
  return true;
}

bool CfiProgram::execute(std::size_t& position, std::uint64_t& location) noexcept {
  cursor_ = ByteCursor(instructions_);
  cursor_.skip(position);
  location_ = location;
  execute_any(cursor_.u8());
  position = cursor_.position();
  location = location_;
  return !damaged_ && !cursor_.failed();
}

void CfiProgram::execute_any(std::uint8_t instruction) noexcept {
  const std::uint64_t operand = instruction & kOperandMask;
  switch (instruction & ~kOperandMask & 0xff) {
    case kAdvanceLoc:
      return advance(operand);
    case kOffset:
      return set_register(operand, LocationKind::kOffset, unsigned_factored());
    case kRestore:
      return restore_register(operand);
    default:
      break;
  }
  switch (instruction) {
    case kNop:
      return;
    case kRememberState:
      return remember();
    case kRestoreState:
      return restore();
    case kGnuArgsSize:
      static_cast<void>(cursor_.uleb());
      return;
    case kSetLoc:
    case kAdvanceLoc1:
    case kAdvanceLoc2:
    case kAdvanceLoc4:
    case kMipsAdvanceLoc8:
      return execute_location(instruction);
    case kDefCfa:
    case kDefCfaRegister:
    case kDefCfaOffset:
    case kDefCfaExpression:
    case kDefCfaSf:
    case kDefCfaOffsetSf:
      return execute_cfa(instruction);
    default:
      if (instruction == kIgnoredCfiInstruction) return;
      return execute_saves(instruction);
  }
}

void CfiProgram::execute_saves(std::uint8_t instruction) noexcept {
  if (instruction == kExpression) return set_register_expression(LocationKind::kExpression);
  if (instruction == kValExpression) return set_register_expression(LocationKind::kValExpression);
  const std::uint64_t reg = cursor_.uleb();
  switch (instruction) {
    case kOffsetExtended:
      return set_register(reg, LocationKind::kOffset, unsigned_factored());
    case kOffsetExtendedSf:
      return set_register(reg, LocationKind::kOffset, signed_factored());
    case kGnuNegativeOffsetExtended:
      return set_register(reg, LocationKind::kOffset, negated_factored());
    case kValOffset:
      return set_register(reg, LocationKind::kValOffset, unsigned_factored());
    case kValOffsetSf:
      return set_register(reg, LocationKind::kValOffset, signed_factored());
    case kRegister:
      return set_register(reg, LocationKind::kRegister, plain_offset());
    case kUndefined:
      return set_register(reg, LocationKind::kUndefined, 0);
    case kSameValue:
      return keep_register(reg);
    case kRestoreExtended:
      return restore_register(reg);
    default:
      damaged_ = true;
  }
}

void CfiProgram::execute_cfa(std::uint8_t instruction) noexcept {
  switch (instruction) {
    case kDefCfa: {
      const std::uint64_t reg = cursor_.uleb();
      return set_cfa(reg, plain_offset());
    }
    case kDefCfaSf: {
      const std::uint64_t reg = cursor_.uleb();
      return set_cfa(reg, signed_factored());
    }
    case kDefCfaRegister: {
      const std::uint64_t reg = cursor_.uleb();
      if (state_.cfa != CfiState::Cfa::kRegister) damaged_ = true;
      return set_cfa(reg, state_.cfa_offset);
    }
    case kDefCfaOffset:
      return change_cfa_offset(plain_offset());
    case kDefCfaOffsetSf:
      return change_cfa_offset(signed_factored());
    default:
      return set_cfa_expression();
  }
}

void CfiProgram::execute_location(std::uint8_t instruction) noexcept {
  switch (instruction) {
    case kSetLoc:
      return set_location();
    case kAdvanceLoc1:
      return advance(cursor_.fixed<std::uint8_t>());
    case kAdvanceLoc2:
      return advance(cursor_.fixed<std::uint16_t>());
    case kAdvanceLoc4:
      return advance(cursor_.fixed<std::uint32_t>());
    default:
      return advance(cursor_.fixed<std::uint64_t>());
  }
}

void CfiProgram::advance(std::uint64_t delta) noexcept {
  std::uint64_t bytes = 0;
  std::uint64_t next = 0;
  if (__builtin_mul_overflow(delta, cie_.code_alignment, &bytes) ||
      __builtin_add_overflow(location_, bytes, &next)) {
    damaged_ = true;
    return;
  }
  location_ = next;
}

void CfiProgram::set_location() noexcept {
  const PointerBases bases{.field = section_.address() + section_.offset_of(cursor_.rest()),
                           .data = 0,
                           .absolute = section_.load_bias()};
  std::uint64_t next = 0;
  if (!decode_pointer(cursor_, cie_.pointer_encoding, bases, next) || next < location_) {
    damaged_ = true;
    return;
  }
  location_ = next;
}

void CfiProgram::set_register(std::uint64_t reg, LocationKind kind, std::int64_t value) noexcept {
  if (reg >= Registers::kCount) return;  // vector registers, which no walk needs
  if (!fits_int32(value)) {
    damaged_ = true;
    return;
  }
  state_.registers[static_cast<std::size_t>(reg)] = {true, kind, 0,
                                                     static_cast<std::int32_t>(value)};
}

void CfiProgram::keep_register(std::uint64_t reg) noexcept {
  if (reg < Registers::kCount) state_.registers[static_cast<std::size_t>(reg)] = {};
}

void CfiProgram::restore_register(std::uint64_t reg) noexcept {
  if (reg >= Registers::kCount) return;
  const auto index = static_cast<std::size_t>(reg);
  state_.registers[index] = initial_.registers[index];
}

void CfiProgram::set_register_expression(LocationKind kind) noexcept {
  const std::uint64_t reg = cursor_.uleb();
  RegisterState state{.saved = true, .kind = kind};
  if (!read_expression(state.value, state.expression_bytes) || reg >= Registers::kCount) return;
  state_.registers[static_cast<std::size_t>(reg)] = state;
}

void CfiProgram::set_cfa(std::uint64_t reg, std::int64_t offset) noexcept {
  if (reg >= Registers::kCount || !fits_int32(offset)) {
    damaged_ = true;
    return;
  }
  state_.cfa = CfiState::Cfa::kRegister;
  state_.cfa_register = static_cast<std::uint8_t>(reg);
  state_.cfa_offset = static_cast<std::int32_t>(offset);
}

void CfiProgram::change_cfa_offset(std::int64_t offset) noexcept {
  if (state_.cfa != CfiState::Cfa::kRegister) damaged_ = true;
  set_cfa(state_.cfa_register, offset);
}

void CfiProgram::set_cfa_expression() noexcept {
  if (!read_expression(state_.cfa_offset, state_.cfa_expression_bytes)) return;
  state_.cfa = CfiState::Cfa::kExpression;
}

bool CfiProgram::read_expression(std::int32_t& position, std::uint16_t& bytes) noexcept {
  const std::span<const std::byte> expression = cursor_.take(cursor_.uleb());
  if (cursor_.failed() || expression.size() > kMaxExpressionBytes) {
    damaged_ = true;
    return false;
  }
  position = static_cast<std::int32_t>(section_.offset_of(expression));
  bytes = static_cast<std::uint16_t>(expression.size());
  return true;
}

std::int64_t CfiProgram::factored(std::int64_t count) noexcept {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(count, cie_.data_alignment, &product)) damaged_ = true;
  return product;
}

std::int64_t CfiProgram::plain_offset() noexcept {
  const std::uint64_t value = cursor_.uleb();
  if (value > INT32_MAX) damaged_ = true;
  return static_cast<std::int64_t>(value);
}

std::int64_t CfiProgram::unsigned_factored() noexcept { return factored(plain_offset()); }
std::int64_t CfiProgram::negated_factored() noexcept {
  std::int64_t negated = 0;
  if (__builtin_sub_overflow(0, unsigned_factored(), &negated)) damaged_ = true;
  return negated;
}
std::int64_t CfiProgram::signed_factored() noexcept { return factored(cursor_.sleb()); }

// GCC and libgcc keep the CFA in the remembered state, too.
void CfiProgram::remember() noexcept {
  if (remembered_count_ == RememberedStates::kMax) {
    damaged_ = true;
    return;
  }
  remembered_.states[remembered_count_++] = state_;
}

void CfiProgram::restore() noexcept {
  if (remembered_count_ == 0) {
    damaged_ = true;
    return;
  }
  state_ = remembered_.states[--remembered_count_];
}

}  // namespace swipr::unwind
