#include <signal.h>

#include <cstddef>
#include <cstring>

#include "preload/handler/signals/context.h"
#include "preload/trace/gate/gate.h"

namespace swipr::handler {

// The kernel's order of general registers to DWARF numbers (System V AMD64 ABI, figure 3.36).
void take_registers(const ucontext_t& context, unwind::Registers& out) noexcept {
  static constexpr std::uint8_t kOrder[unwind::Registers::kCount] = {
      REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
      REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  for (unsigned index = 0; index < unwind::Registers::kCount; ++index) {
    out.values[index] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[kOrder[index]]);
  }
  out.known = unwind::kAllRegisters;
}

// Source: arch/x86/kernel/fpu/signal.c: the extended state, with its size in sw_reserved and a
// second magic number of 4 bytes at the end, comes last, below the red zone.
std::uint64_t last_written_byte(const ucontext_t& context) noexcept {
  const auto state = reinterpret_cast<std::uint64_t>(context.uc_mcontext.fpregs);
  if (state == 0) return reinterpret_cast<std::uint64_t>(&context);
  _fpx_sw_bytes reserved;
  constexpr std::size_t kReservedAt = 464;  // Intel SDM volume 1, 10.5.1: free for software
  std::memcpy(&reserved, reinterpret_cast<const std::byte*>(state) + kReservedAt, sizeof reserved);
  constexpr std::uint32_t kLargestState = 64 << 10;  // with AMX 11 KiB
  if (reserved.magic1 != FP_XSTATE_MAGIC1 || reserved.extended_size > kLargestState) return state;
  return state + reserved.extended_size - 1;
}

void move_out_of_change(ucontext_t& context, std::uint64_t value) noexcept {
  auto& registers = context.uc_mcontext.gregs;
  auto pc = static_cast<std::uint64_t>(registers[REG_RIP]);
  trace::answer_gate(value, pc, static_cast<std::uint64_t>(registers[REG_RSP]));
  registers[REG_RIP] = static_cast<greg_t>(pc);
}

}  // namespace swipr::handler
