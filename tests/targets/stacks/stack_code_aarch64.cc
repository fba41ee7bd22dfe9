#include "tests/targets/stacks/stack_code.h"

asm(R"(
  .text
  .globl framed_call_begin
  .globl framed_call_end
framed_call_begin:
  stp x29, x30, [sp, #-32]!
  mov x29, sp
  blr x0
  ldp x29, x30, [sp], #32
  ret
framed_call_end:
)");

asm(R"(
  .text
  .globl bare_leaf
  .type bare_leaf, @function
bare_leaf:
  mov w0, #1
1:
  add w0, w0, #1
  cbnz w0, 1b
  ret
  .size bare_leaf, . - bare_leaf
)");

asm(R"(
  .text
  .macro KEEP_REGISTERS
  stp x19, x20, [sp]
  str x29, [sp, #16]
  .endm
  .macro RESTORE_REGISTERS
  ldp x19, x20, [sp]
  ldr x29, [sp, #16]
  .endm
  .globl fixed_kernel
  .type fixed_kernel, @function
fixed_kernel:
  sub sp, sp, #0x80
  KEEP_REGISTERS
  add x29, sp, #0x40
  mov x19, x0
1:
  add x20, x20, #3
  str x20, [x29]
  subs x19, x19, #1
  b.ne 1b
  mov w0, #1
  RESTORE_REGISTERS
  add sp, sp, #0x80
  ret
  .size fixed_kernel, . - fixed_kernel
  .globl plain_kernel
  .type plain_kernel, @function
plain_kernel:
  sub sp, sp, #0x80
1:
  str x0, [sp]
  subs x0, x0, #1
  b.ne 1b
  mov w0, #1
  add sp, sp, #0x80
  ret
  .size plain_kernel, . - plain_kernel
  .globl aligned_kernel
  .type aligned_kernel, @function
aligned_kernel:
  sub sp, sp, #0x60
  KEEP_REGISTERS
  mov x19, sp
  sub x9, sp, #0x7080 & 0xfff
  sub x9, x9, #0x7080 - (0x7080 & 0xfff)
  and sp, x9, #~0xfff
  add x29, sp, #0x80
  cbz x0, 2f
1:
  add x20, x20, #3
  str x20, [x29]
  subs x0, x0, #1
  b.ne 1b
2:
  mov w0, #1
  mov sp, x19
  RESTORE_REGISTERS
  add sp, sp, #0x60
  ret
  .size aligned_kernel, . - aligned_kernel
)");
