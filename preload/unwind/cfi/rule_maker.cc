#include "preload/unwind/cfi/rule_maker.h"

#include <optional>

#include "preload/unwind/base/architecture.h"

namespace swipr::unwind {
namespace {

bool fits_plain(const RegisterState& state, std::int16_t& offset) noexcept {
  offset = Rule::kKept;
  if (!state.saved) return true;
  if (state.kind != LocationKind::kOffset) return false;
  offset = static_cast<std::int16_t>(state.value);
  return offset == state.value && offset != Rule::kKept;
}

constexpr bool is_base_of_cfas(unsigned reg) noexcept {
  return reg == kStackRegister || reg == kFrameRegister ||
         (kReturnAddressIsPushed && reg == kBaseRegister);
}

// The pc has a rule of its own in signal frames of machines that return through a register.
RegisterState return_address_of(const CfiState& state) noexcept {
  const RegisterState& pc = state.registers[kPcRegister];
  if (kReturnAddressIsPushed || pc.saved) return pc;
  const RegisterState& column = state.registers[kReturnColumn];
  if (column.saved) return column;
  return {.saved = true, .kind = LocationKind::kRegister, .value = kReturnColumn};
}

// Where plain rules expect it.
bool is_usual(const CfiState& state) noexcept {
  const RegisterState& pc = state.registers[kPcRegister];
  if (!kReturnAddressIsPushed) return !pc.saved;
  return pc.kind == LocationKind::kOffset && pc.value == kReturnAddressAt;
}

class ExtendedRule {
 public:
  ExtendedRule(const CfiSection& section, RuleSet& rules) noexcept
      : section_(section), rules_(rules) {}

  std::uint32_t make(const CfiState& state, bool signal_frame) noexcept {
    Rule rule{.flags = kRuleExtended};
    if (signal_frame) rule.flags |= kRuleSignalFrame;
    rule.cfa_register = state.cfa_register;
    rule.cfa_offset = state.cfa_offset;
    if (state.cfa == CfiState::Cfa::kExpression) {
      rule.flags |= kRuleCfaExpression;
      rule.cfa_register = 0;
      rule.cfa_offset = 0;
      add(kStackRegister, {.saved = true,
                           .kind = LocationKind::kValExpression,
                           .expression_bytes = state.cfa_expression_bytes,
                           .value = state.cfa_offset});
    }
    // A step applies these in place, one after the other. The frame and the stack register come
    // last because the other locations are relative to them.
    add(kPcRegister, return_address_of(state));
    for (unsigned reg = 0; reg < Registers::kCount; ++reg) {
      if (reg == kPcRegister || reg == kFrameRegister || reg == kStackRegister) continue;
      if (signal_frame || is_base_of_cfas(reg)) add(reg, state.registers[reg]);
    }
    add(kFrameRegister, state.registers[kFrameRegister]);
    add(kStackRegister, state.registers[kStackRegister]);
    if (out_of_memory_) return RuleSet::kNoMemory;
    return rules_.intern(rule, {locations_.data(), count_});
  }

 private:
  void add(unsigned reg, const RegisterState& state) noexcept {
    if (!state.saved) return;
    Location& location = locations_[count_++];
    location = {.reg = static_cast<std::uint8_t>(reg),
                .kind = state.kind,
                .expression_bytes = state.expression_bytes,
                .value = state.value};
    if (state.kind != LocationKind::kExpression && state.kind != LocationKind::kValExpression) {
      return;
    }
    const auto bytes =
        section_.bytes().subspan(static_cast<std::size_t>(state.value), state.expression_bytes);
    const std::optional<std::int32_t> position = rules_.intern_expression(bytes);
    out_of_memory_ = out_of_memory_ || !position;
    location.value = position.value_or(0);
  }

  const CfiSection& section_;
  RuleSet& rules_;
  bool out_of_memory_ = false;
  std::size_t count_ = 0;
  std::array<Location, Registers::kCount + 1> locations_{};
};

}  // namespace

std::optional<RuleWords> make_plain_rule(const CfiState& state) noexcept {
  if (state.cfa != CfiState::Cfa::kRegister) return std::nullopt;
  if (!is_base_of_cfas(state.cfa_register) || !is_usual(state) ||
      state.registers[kStackRegister].saved) {
    return std::nullopt;
  }
  std::int16_t frame = 0;
  std::int16_t base = 0;
  if (!fits_plain(state.registers[kFrameRegister], frame) ||
      !fits_plain(state.registers[kBaseRegister], base)) {
    return std::nullopt;
  }
  return plain_rule_words(state.cfa_register, state.cfa_offset, frame, base);
}

std::uint32_t make_other_rule(const CfiState& state, const CfiSection& section, bool signal_frame,
                              RuleSet& rules) noexcept {
  const RegisterState return_address = return_address_of(state);
  if (!return_address.saved || state.cfa == CfiState::Cfa::kUnset) return RuleSet::kNone;
  if (return_address.kind == LocationKind::kUndefined) {
    return rules.intern(Rule{.flags = kRuleRoot}, {});
  }
  return ExtendedRule(section, rules).make(state, signal_frame);
}

}  // namespace swipr::unwind
