// Executes code one instruction after the other: SIGTRAP before each. Between the two, in one
// function. A tracer steps, because programs have no trap flag.
#pragma once

namespace swipr::trace {

// A system call that does not exist, which the tracer sees.
#define SWIPR_MARK_STEPS(number) \
  asm volatile("mov x8, #" #number "\n\tsvc #0" ::: "x0", "x8", "memory", "cc")
#define SWIPR_BEGIN_STEPS SWIPR_MARK_STEPS(5000)
#define SWIPR_END_STEPS SWIPR_MARK_STEPS(5001)

// The exception after an exclusive load makes the exclusive store fail: without atomic instructions
// (LSE) loops of such pairs do not end in single steps.
bool can_step();
// Starts the tracer of this thread; waits for its end.
void prepare_steps();
void finish_steps();

}  // namespace swipr::trace
