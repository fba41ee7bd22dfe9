// Executes the instructions of one FDE: computes where registers are saved at each address.
// Context: control thread.  Allocates: never.
// Source: DWARF 5, section 6.4.2; GNU extensions as in LSB 5.0 Core, section 10.5.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/core/byte_cursor.h"
#include "preload/unwind/base/registers.h"
#include "preload/unwind/cfi/cfi_section.h"
#include "preload/unwind/table/rule.h"

namespace swipr::unwind {

// Rule of one register at one address. Expressions are positions in the section.
struct RegisterState {
  bool saved = false;  // false: still holds the caller's value
  LocationKind kind = LocationKind::kUndefined;
  std::uint16_t expression_bytes = 0;
  std::int32_t value = 0;
  friend bool operator==(const RegisterState&, const RegisterState&) = default;
};

struct CfiState {
  enum class Cfa : std::uint8_t { kUnset, kRegister, kExpression };
  Cfa cfa = Cfa::kUnset;
  std::uint8_t cfa_register = 0;
  std::uint16_t cfa_expression_bytes = 0;
  std::int32_t cfa_offset = 0;  // or the expression's position in the section
  std::array<RegisterState, Registers::kCount> registers{};
};

// Memory for DW_CFA_remember_state, shared by all programs, which saves initialising 5 KB for each
// FDE.
struct RememberedStates {
  static constexpr unsigned kMax = 32;  // nesting in compiled code stays below 8
  std::array<CfiState, kMax> states;
};

class CfiProgram {
 public:
  // Executes the CIE's instructions. False: they are damaged.
  static bool run_initial(const CfiSection& section, const Cie& cie, RememberedStates& remembered,
                          CfiState& state) noexcept;

  CfiProgram(const CfiSection& section, const Cie& cie, const CfiState& initial, const Fde& fde,
             RememberedStates& remembered) noexcept;

  // Executes the FDE's instruction at `position` and advances it; `location` is the code address at
  // which it takes effect, and is updated. False: damaged.
  bool execute(std::size_t& position, std::uint64_t& location) noexcept;

  // Effects of the two most frequent instructions, for callers that decode these themselves.
  void set_cfa_offset(std::int32_t offset) noexcept { state_.cfa_offset = offset; }
  void save_at_offset(unsigned reg, std::int32_t offset) noexcept {
    state_.registers[reg] = {true, LocationKind::kOffset, 0, offset};
  }

  const CfiState& state() const noexcept { return state_; }
  const Cie& cie() const noexcept { return cie_; }

 private:
  void execute_any(std::uint8_t instruction) noexcept;
  void execute_saves(std::uint8_t instruction) noexcept;
  void execute_cfa(std::uint8_t instruction) noexcept;
  void execute_location(std::uint8_t instruction) noexcept;
  void advance(std::uint64_t delta) noexcept;
  void set_location() noexcept;
  void set_register(std::uint64_t reg, LocationKind kind, std::int64_t value) noexcept;
  void keep_register(std::uint64_t reg) noexcept;
  void restore_register(std::uint64_t reg) noexcept;
  void set_register_expression(LocationKind kind) noexcept;
  void set_cfa(std::uint64_t reg, std::int64_t offset) noexcept;
  void change_cfa_offset(std::int64_t offset) noexcept;
  void set_cfa_expression() noexcept;
  bool read_expression(std::int32_t& position, std::uint16_t& bytes) noexcept;
  std::int64_t unsigned_factored() noexcept;
  std::int64_t negated_factored() noexcept;
  std::int64_t signed_factored() noexcept;
  std::int64_t plain_offset() noexcept;
  std::int64_t factored(std::int64_t count) noexcept;
  void remember() noexcept;
  void restore() noexcept;

  const CfiSection& section_;
  const Cie& cie_;
  const CfiState& initial_;
  std::span<const std::byte> instructions_;
  ByteCursor cursor_;
  std::uint64_t location_;
  CfiState state_;
  bool damaged_ = false;
  RememberedStates& remembered_;
  unsigned remembered_count_ = 0;
};

}  // namespace swipr::unwind
