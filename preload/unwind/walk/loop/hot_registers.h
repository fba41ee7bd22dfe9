// The registers that every plain step of a walk changes. A walk's loop has them in a variable whose
// address it does not give away, so that they stay in the processor's registers. Context: any.
#pragma once

#include <cstdint>

#include "common/core/addresses.h"
#include "preload/unwind/base/architecture.h"
#include "preload/unwind/base/registers.h"

namespace swipr::unwind {

struct HotRegisters {
  std::uint64_t pc = 0;
  std::uint64_t stack = 0;
  std::uint64_t frame = 0;
  std::uint64_t base = 0;
  RegisterMask known = 0;
  bool exact = false;  // the pc is the instruction that runs next, not a return address

  static HotRegisters of(const Registers& registers) noexcept {
    return {.pc = registers.values[kPcRegister],
            .stack = registers.values[kStackRegister],
            .frame = registers.values[kFrameRegister],
            .base = registers.values[kBaseRegister],
            .known = registers.known};
  }
  void store(Registers& registers) const noexcept {
    registers.values[kPcRegister] = pc;
    registers.values[kStackRegister] = stack;
    registers.values[kFrameRegister] = frame;
    registers.values[kBaseRegister] = base;
    registers.known = known;
  }

  bool is_known(unsigned reg) const noexcept { return (known >> reg & 1u) != 0; }
  // Of the three that are the base of a CFA in plain rules.
  std::uint64_t value_of(unsigned reg) const noexcept {
    return reg == kStackRegister ? stack : reg == kFrameRegister ? frame : base;
  }
  std::uint64_t lookup_pc() const noexcept {
    return lookup_address(pc, exact ? PcKind::kExact : PcKind::kReturnAddress);
  }
  // A frame record may be anywhere in its frame, which ends at the stack pointer (AAPCS64, 6.4.6):
  // a smashed one that lies in a callee's would be its own caller.
  bool is_below_its_frame(unsigned reg) const noexcept {
    return !kReturnAddressIsPushed && reg == kFrameRegister && frame < stack;
  }

  // After an ordinary call only these registers are known to be the caller's.
  void forget_others() noexcept {
    known &= kCallersRegisters;
    exact = false;
  }
  // The base register holds the return address. A caller's own one is not known.
  void return_by_register() noexcept {
    pc = plain_return_address(base);
    known &= ~bit_of(kBaseRegister);
  }
};

}  // namespace swipr::unwind
