// A rule of the tables: how to get from one frame to its caller.
// Context: anywhere, signal handlers included.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace swipr::unwind {

// Where a register's value in the caller is found.
enum class LocationKind : std::uint8_t {
  kUndefined,      // lost
  kOffset,         // in memory at CFA + value
  kValOffset,      // is CFA + value
  kRegister,       // in register `value` of this frame
  kExpression,     // in memory at the address that the expression computes
  kValExpression,  // is the result of the expression
};

// Of an extended rule.
struct Location {
  std::uint8_t reg = 0;
  LocationKind kind = LocationKind::kUndefined;
  std::uint16_t expression_bytes = 0;
  std::int32_t value = 0;  // expressions: position in the table's pool
  friend bool operator==(const Location&, const Location&) = default;
};
static_assert(sizeof(Location) == 8);
inline constexpr std::size_t kMaxExpressionBytes = 256;

enum RuleFlags : std::uint8_t {
  kRuleNone = 1,            // no CFI, or none that is supported
  kRuleRoot = 2,            // return address undefined: the outermost frame
  kRuleExtended = 4,        // see `locations`; otherwise the plain form below
  kRuleSignalFrame = 8,     // the caller's pc is exact and its stack may be elsewhere
  kRuleCfaExpression = 16,  // with kRuleExtended: the CFA, too, is an expression
};

// Plain (flags == 0): CFA = cfa_register + cfa_offset with a stack or callee-saved base register,
// the return address directly below it, saved_frame and saved_base at their offsets from the CFA.
// Where calls leave the return address in a register (aarch64: x30), saved_base is its place.
// This covers nearly all compiled code.
struct Rule {
  std::uint8_t flags = 0;
  std::uint8_t cfa_register = 0;
  std::uint8_t location_count = 0;
  std::uint8_t unused = 0;
  std::int32_t cfa_offset = 0;       // kRuleCfaExpression: position in the pool
  std::int16_t saved_frame = kKept;  // offset from the CFA of the frame pointer's saved value
  std::int16_t saved_base = kKept;   // … and of the base register's (rbx, x30)
  std::uint32_t first_location = 0;  // kRuleCfaExpression: its bytes are in location 0 of these
  static constexpr std::int16_t kKept = INT16_MIN;  // still holds the caller's value
  friend bool operator==(const Rule&, const Rule&) = default;
};
static_assert(sizeof(Rule) == 16, "rules are searched and cached by the thousand");

// A rule as two words, assembled in registers: loading words whose bytes were stored one by one
// stalls the processor, and building a table makes a million rules.
using RuleWords = std::array<std::uint64_t, 2>;

constexpr RuleWords plain_rule_words(std::uint8_t cfa_register, std::int32_t cfa_offset,
                                     std::int16_t saved_frame, std::int16_t saved_base) noexcept {
  static_assert(std::endian::native == std::endian::little);
  return {std::uint64_t{cfa_register} << 8 | std::uint64_t{static_cast<std::uint32_t>(cfa_offset)}
                                                 << 32,
          std::uint64_t{static_cast<std::uint16_t>(saved_frame)} |
              std::uint64_t{static_cast<std::uint16_t>(saved_base)} << 16};
}
// Of the first word, and of the second.
constexpr std::uint64_t with_cfa_offset(std::uint64_t word, std::int32_t offset) noexcept {
  return (word & 0xffff'ffff) | std::uint64_t{static_cast<std::uint32_t>(offset)} << 32;
}
constexpr std::uint64_t with_saved_frame(std::uint64_t word, std::int16_t offset) noexcept {
  return (word & ~std::uint64_t{0xffff}) | static_cast<std::uint16_t>(offset);
}
constexpr std::uint64_t with_saved_base(std::uint64_t word, std::int16_t offset) noexcept {
  return (word & ~std::uint64_t{0xffff'0000}) | std::uint64_t{static_cast<std::uint16_t>(offset)}
                                                    << 16;
}
static_assert(std::bit_cast<Rule>(plain_rule_words(7, -8, -16, Rule::kKept)) ==
              Rule{.cfa_register = 7, .cfa_offset = -8, .saved_frame = -16});
static_assert(with_cfa_offset(plain_rule_words(7, 8, 0, 0)[0], 32) ==
              plain_rule_words(7, 32, 0, 0)[0]);
static_assert(with_saved_base(with_saved_frame(plain_rule_words(7, 8, -8, -8)[1], -16), -24) ==
              plain_rule_words(7, 8, -16, -24)[1]);

}  // namespace swipr::unwind
