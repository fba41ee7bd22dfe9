#include "preload/handler/calls/continued_transfer.h"

// On entry the registers are those of a call that has returned, except that buffer and count are
// those of the rest, and r11 is the number of the call. Buffer and count: rsi and rdx (transfer),
// rdi and rsi (fill), r10 (sendfile), r8 (copy). On exit all registers are as the call leaves them
// (rcx and r11 destroyed as by `syscall`), with the sum in rax. Behind `syscall` rcx is not 0; the
// handler sets it to 0 there if only its own signal interrupted the call.
//
// Stack, down from the interrupted code's: red zone of 128 bytes (System V AMD64 ABI, 3.2.2),
// address to return to, flags, number of the call, bytes transferred so far. With its call frame
// information it unwinds as a function called by the code that made the call, for debuggers,
// exceptions (thread cancellation) and swipr's own walks.
__asm__(R"(
  .pushsection .text
  .macro swipr_continue name, count, buffer
  .balign 16
  .hidden \name
  .hidden \name\()_returned
  .globl \name
  .globl \name\()_returned
  .type \name, @function
\name:
  .cfi_startproc
  .cfi_def_cfa_offset 0
  .cfi_register 16, 2
  lea -128(%rsp), %rsp
  .cfi_adjust_cfa_offset 128
  push %rcx
  .cfi_adjust_cfa_offset 8
  .cfi_offset 16, -136
  pushfq
  .cfi_adjust_cfa_offset 8
  push %r11
  .cfi_adjust_cfa_offset 8
  push %rax
  .cfi_adjust_cfa_offset 8
1:
  mov %rsp, %rcx
  mov 8(%rsp), %rax
  syscall
\name\()_returned:
  cmp $-4095, %rax
  jae 2f
  add %rax, (%rsp)
  .ifnb \buffer
  add %rax, \buffer
  .endif
  sub %rax, \count
  jz 3f
  test %rax, %rax
  jz 3f
  jrcxz 1b
  jmp 3f
2:
  cmp $-4, %rax
  jne 3f
  jrcxz 1b
3:
  pop %rax
  .cfi_adjust_cfa_offset -8
  .ifnb \buffer
  sub %rax, \buffer
  .endif
  add %rax, \count
  pop %rcx
  .cfi_adjust_cfa_offset -8
  mov (%rsp), %r11
  popfq
  .cfi_adjust_cfa_offset -8
  pop %rcx
  .cfi_adjust_cfa_offset -8
  .cfi_register 16, 2
  lea 128(%rsp), %rsp
  .cfi_adjust_cfa_offset -128
  jmp *%rcx
  .cfi_endproc
  .size \name, . - \name
  .endm
  swipr_continue swipr_continued_transfer, %rdx, %rsi
  swipr_continue swipr_continued_fill, %rsi, %rdi
  swipr_continue swipr_continued_sendfile, %r10
  swipr_continue swipr_continued_copy, %r8
  .purgem swipr_continue
  .popsection
)");
