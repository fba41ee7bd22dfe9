#include "preload/unwind/walk/step.h"

#include "preload/unwind/base/architecture.h"
#include "preload/unwind/walk/expression.h"

namespace swipr::unwind {
namespace {

StepStatus to_step_status(EvaluateStatus status) noexcept {
  switch (status) {
    case EvaluateStatus::kOk:
      return StepStatus::kOk;
    case EvaluateStatus::kUnreadable:
      return StepStatus::kUnreadable;
    case EvaluateStatus::kUnknownRegister:
      return StepStatus::kUnknownRegister;
    default:
      return StepStatus::kNoRule;
  }
}

class ExtendedStep {
 public:
  ExtendedStep(const UnwindTable& table, StackReader reader, Registers& registers) noexcept
      : table_(table), reader_(reader), registers_(registers) {}

  StepStatus run(const Rule& rule) noexcept {
    const bool signal_frame = (rule.flags & kRuleSignalFrame) != 0;
    const Location* location = table_.locations + rule.first_location;
    const Location* const end = location + rule.location_count;
    StepStatus status = find_cfa(rule, location);
    std::uint64_t pc = 0;
    if (status == StepStatus::kOk) status = find(*location++, pc);
    if (status != StepStatus::kOk) return status;
    // This order overwrites nothing that a later location needs: see ExtendedRule::make.
    std::uint64_t stack = cfa_;
    for (; location != end; ++location) {
      const unsigned reg = location->reg;
      std::uint64_t value = 0;
      if (!signal_frame && is_restored(*location)) continue;
      status = find(*location, value);
      if (status == StepStatus::kUnreadable) return status;
      set(reg, value, status == StepStatus::kOk);
      if (reg == kStackRegister) stack = value;
    }
    set(kStackRegister, stack, true);
    set(kPcRegister, signal_frame ? pc : plain_return_address(pc), true);
    if (!signal_frame) registers_.known &= kCallersRegisters;
    return StepStatus::kOk;
  }

 private:
  void set(unsigned reg, std::uint64_t value, bool known) noexcept {
    registers_.values[reg] = value;
    registers_.known = (registers_.known & ~bit_of(reg)) | (known ? bit_of(reg) : 0);
  }

  StepStatus find_register(std::uint64_t reg, std::uint64_t& value) const noexcept {
    if (reg >= Registers::kCount) return StepStatus::kNoRule;
    if (!registers_.knows(static_cast<unsigned>(reg))) return StepStatus::kUnknownRegister;
    value = registers_.values[static_cast<std::size_t>(reg)];
    return StepStatus::kOk;
  }

  StepStatus find_cfa(const Rule& rule, const Location*& location) noexcept {
    if ((rule.flags & kRuleCfaExpression) != 0) {
      const StepStatus status = evaluate_at(*location, nullptr, cfa_);
      ++location;
      return status;
    }
    const StepStatus status = find_register(rule.cfa_register, cfa_);
    cfa_ += static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
    return status;
  }

  StepStatus evaluate_at(const Location& location, const std::uint64_t* initial,
                         std::uint64_t& value) const noexcept {
    const auto bytes =
        table_.expression(static_cast<std::size_t>(location.value), location.expression_bytes);
    return to_step_status(evaluate(bytes, registers_, reader_, initial, value));
  }

  // GCC's realigned frames save registers at addresses relative to rbp, and their CFI does not
  // state that rbp is already restored at the last two instructions of the epilogue. A function
  // saves registers in its frame; an address outside of it means that the register holds the
  // caller's value again.
  bool is_restored(const Location& location) const noexcept {
    std::uint64_t address = 0;
    return location.kind == LocationKind::kExpression &&
           evaluate_at(location, &cfa_, address) == StepStatus::kOk &&
           (address >= cfa_ || address < registers_.values[kStackRegister]);
  }

  StepStatus load(std::uint64_t address, std::uint64_t& value) const noexcept {
    return reader_.read_word(reader_.state, address, value) ? StepStatus::kOk
                                                            : StepStatus::kUnreadable;
  }

  StepStatus find(const Location& location, std::uint64_t& value) const noexcept {
    const std::uint64_t at_offset = cfa_ + static_cast<std::uint64_t>(std::int64_t{location.value});
    switch (location.kind) {
      case LocationKind::kOffset:
        return load(at_offset, value);
      case LocationKind::kValOffset:
        value = at_offset;
        return StepStatus::kOk;
      case LocationKind::kRegister:
        return find_register(static_cast<std::uint32_t>(location.value), value);
      case LocationKind::kValExpression:
        return evaluate_at(location, &cfa_, value);
      case LocationKind::kExpression: {
        const StepStatus status = evaluate_at(location, &cfa_, value);
        return status == StepStatus::kOk ? load(value, value) : status;
      }
      default:
        return StepStatus::kUnknownRegister;  // undefined: lost on purpose
    }
  }

  const UnwindTable& table_;
  StackReader reader_;
  Registers& registers_;
  std::uint64_t cfa_ = 0;
};

}  // namespace

StepStatus step_by_extended_rule(const UnwindTable& table, const Rule& rule, StackReader reader,
                                 Registers& registers) noexcept {
  if ((rule.flags & kRuleRoot) != 0) return StepStatus::kRoot;
  return ExtendedStep(table, reader, registers).run(rule);
}

}  // namespace swipr::unwind
