// Runs the instructions of one FDE: which registers are saved where, from address to address.
// Context: control thread.  Allocates: never.
// Source: DWARF 5, section 6.4.2; GNU extensions as in LSB 5.0 Core, section 10.5.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "preload/unwind/byte_cursor.h"
#include "preload/unwind/cfi_section.h"
#include "preload/unwind/rule.h"
#include "preload/unwind/walk.h"

namespace swipr::unwind {

// What is known about one register at one address. Expressions are positions in the section.
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

// Room for DW_CFA_remember_state, used for one program after the other: 5 KB that each FDE would
// otherwise have to initialise.
struct RememberedStates {
  static constexpr unsigned kMax = 32;  // nesting in compiled code stays below 8
  std::array<CfiState, kMax> states;
};

class CfiProgram {
 public:
  // What the CIE's instructions set up. False: they are damaged.
  // `budget` falls by one for each instruction: what bounds hostile sections.
  static bool run_initial(const CfiSection& section, const Cie& cie, RememberedStates& remembered,
                          std::uint64_t& budget, CfiState& state) noexcept;

  CfiProgram(const CfiSection& section, const Cie& cie, const CfiState& initial, const Fde& fde,
             RememberedStates& remembered, std::uint64_t& budget) noexcept;

  enum class Outcome : std::uint8_t { kAdvanced, kEnd, kDamaged };
  // Runs up to the next change of address. With kAdvanced and kEnd, state() holds from the address
  // before the call up to location() (kEnd: up to the end of the FDE).
  Outcome run_to_next_location() noexcept;

  const CfiState& state() const noexcept { return state_; }
  std::uint64_t location() const noexcept { return location_; }

 private:
  void execute(std::uint8_t instruction) noexcept;
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
  void set_cfa_offset(std::int64_t offset) noexcept;
  void set_cfa_expression() noexcept;
  bool read_expression(std::int32_t& position, std::uint16_t& bytes) noexcept;
  std::int64_t unsigned_factored() noexcept;
  std::int64_t signed_factored() noexcept;
  std::int64_t plain_offset() noexcept;
  std::int64_t factored(std::int64_t count) noexcept;
  void remember() noexcept;
  void restore() noexcept;

  const CfiSection& section_;
  const Cie& cie_;
  const CfiState& initial_;
  std::uint64_t& budget_;
  ByteCursor cursor_;
  std::size_t instructions_at_;
  std::uint64_t location_;
  CfiState state_;
  bool advanced_ = false;
  bool damaged_ = false;
  RememberedStates& remembered_;
  unsigned remembered_count_ = 0;
};

}  // namespace swipr::unwind
