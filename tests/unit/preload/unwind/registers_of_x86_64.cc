#include "tests/unit/preload/unwind/self_map.h"

namespace swipr::unwind {

Registers registers_of(const ucontext_t& context) {
  // By DWARF number; the kernel's order is another one.
  constexpr int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                            REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                            REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  Registers registers;
  for (unsigned reg = 0; reg < Registers::kCount; ++reg) {
    registers.values[reg] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[kOrder[reg]]);
  }
  registers.known = (1u << Registers::kCount) - 1;
  return registers;
}

}  // namespace swipr::unwind
