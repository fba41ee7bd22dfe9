#include "tests/targets/stacks/stack_code.h"

asm(R"(
  .text
  .globl framed_call_begin
  .globl framed_call_end
framed_call_begin:
  push %rbp
  mov %rsp, %rbp
  sub $32, %rsp
  call *%rdi
  leave
  ret
framed_call_end:
)");

asm(R"(
  .text
  .globl bare_leaf
  .type bare_leaf, @function
bare_leaf:
  movl $1, %eax
1:
  addl $1, %eax
  jnz 1b
  ret
  .size bare_leaf, . - bare_leaf
)");

asm(R"(
  .text
  .macro KEEP_REGISTERS
  movq %rbx, (%rsp)
  movq %rbp, 8(%rsp)
  movq %r12, 16(%rsp)
  .endm
  .macro RESTORE_REGISTERS
  movq (%rsp), %rbx
  movq 8(%rsp), %rbp
  movq 16(%rsp), %r12
  .endm
  .globl fixed_kernel
  .type fixed_kernel, @function
fixed_kernel:
  subq $0x80, %rsp
  KEEP_REGISTERS
  leaq 0x40(%rsp), %rbp
  movq %rdi, %rbx
1:
  addq $3, %r12
  movq %r12, (%rbp)
  decq %rbx
  jnz 1b
  movl $1, %eax
  RESTORE_REGISTERS
  addq $0x80, %rsp
  ret
  .size fixed_kernel, . - fixed_kernel
  .globl plain_kernel
  .type plain_kernel, @function
plain_kernel:
  subq $0x80, %rsp
1:
  addq $3, (%rsp)
  decq %rdi
  jnz 1b
  movl $1, %eax
  addq $0x80, %rsp
  ret
  .size plain_kernel, . - plain_kernel
  .globl aligned_kernel
  .type aligned_kernel, @function
aligned_kernel:
  subq $0x60, %rsp
  KEEP_REGISTERS
  movq %rsp, %rbx
  subq $0x7080, %rsp
  andq $-0x1000, %rsp
  leaq 0x80(%rsp), %rbp
  testq %rdi, %rdi
  je 2f
1:
  addq $3, %r12
  movq %r12, (%rbp)
  decq %rdi
  jnz 1b
2:
  movl $1, %eax
  movq %rbx, %rsp
  RESTORE_REGISTERS
  addq $0x60, %rsp
  ret
  .size aligned_kernel, . - aligned_kernel
)");
