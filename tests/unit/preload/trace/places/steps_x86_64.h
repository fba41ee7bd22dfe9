// Executes code one instruction after the other: SIGTRAP before each. Between the two, in one
// function that calls others, which does not use the red zone.
#pragma once

#include <csignal>

namespace swipr::trace {

// The trap flag, from the instruction behind this on.
#define SWIPR_CHANGE_FLAGS(change)                         \
  asm volatile("pushfq\n.cfi_adjust_cfa_offset 8\n" change \
               "(%%rsp)\npopfq\n.cfi_adjust_cfa_offset -8" \
               :                                           \
               :                                           \
               : "memory", "cc")
#define SWIPR_BEGIN_STEPS SWIPR_CHANGE_FLAGS("orq $0x100,")
#define SWIPR_END_STEPS SWIPR_CHANGE_FLAGS("andq $~0x100,")

inline bool can_step() { return true; }
// Before and after all of it.
inline void prepare_steps() {}
inline void finish_steps() {}

}  // namespace swipr::trace
