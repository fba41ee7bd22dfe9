#include <algorithm>
#include <iterator>

#include "tests/unit/preload/unwind/self_map.h"

namespace swipr::unwind {

Registers registers_of(const ucontext_t& context) {
  Registers registers;
  std::copy(std::begin(context.uc_mcontext.regs), std::end(context.uc_mcontext.regs),
            registers.values.begin());
  registers.values[kSp] = context.uc_mcontext.sp;
  registers.values[kPc] = context.uc_mcontext.pc;
  registers.known = kAllRegisters;
  return registers;
}

}  // namespace swipr::unwind
