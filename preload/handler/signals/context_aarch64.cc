#include <algorithm>
#include <iterator>

#include "preload/handler/signals/context.h"

namespace swipr::handler {

void take_registers(const ucontext_t& context, unwind::Registers& out) noexcept {
  const mcontext_t& machine = context.uc_mcontext;
  std::copy(std::begin(machine.regs), std::end(machine.regs), out.values.begin());
  out.values[unwind::kSp] = machine.sp;
  out.values[unwind::kPc] = machine.pc;
  out.known = unwind::kAllRegisters;
}

// Source: arch/arm64/kernel/signal.c, setup_sigframe: the records of the floating-point state
// follow.
std::uint64_t last_written_byte(const ucontext_t& context) noexcept {
  return reinterpret_cast<std::uint64_t>(&context.uc_mcontext.__reserved);
}

void move_out_of_change(ucontext_t&, std::uint64_t) noexcept {}

}  // namespace swipr::handler
