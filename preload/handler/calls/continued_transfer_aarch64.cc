#include "preload/handler/calls/continued_transfer.h"

// On entry the registers are those of a call that has returned, except that buffer and count are
// those of the rest, x16 is the address to return to, and x17 the first argument. Buffer and count:
// x1 and x2 (transfer), x17 and x1 (fill), x3 (sendfile), x4 (copy). On exit all registers are as
// the call leaves them, with the sum in x0, except x16, x17 and the flags, which the code after the
// call does not use. Behind `svc` x17 is 1; the handler sets it to 0 there if only its own signal
// interrupted the call, and to 2 if a handler of the program has run.
//
// Stack, from the lower end: address to return to, first argument, bytes transferred so far. With
// its call frame information it unwinds as a function called by the code that made the call, for
// debuggers, exceptions (thread cancellation) and swipr's own walks: x30 is still that code's, and
// the address to return to is that of register 32, the pc (AADWARF64). `ret`, because the place
// that it returns to is none that `br` may reach with branch target identification.
__asm__(R"(
  .pushsection .text
  .macro swipr_continue name, count, buffer
  .balign 16
  .hidden \name
  .hidden \name\()_returned
  .globl \name
  .globl \name\()_returned
  .type \name, %function
\name:
  .cfi_startproc
  .cfi_return_column 32
  .cfi_def_cfa_offset 0
  .cfi_register 32, 16
  stp x16, x17, [sp, #-32]!
  .cfi_adjust_cfa_offset 32
  .cfi_offset 32, -32
  str x0, [sp, #16]
1:
  ldr x0, [sp, #8]
  mov x17, #1
  svc #0
\name\()_returned:
  cmn x0, #4095
  b.hs 2f
  ldr x16, [sp, #16]
  add x16, x16, x0
  str x16, [sp, #16]
  .ifnb \buffer
  add \buffer, \buffer, x0
  .endif
  .ifc \name, swipr_continued_fill
  ldr x16, [sp, #8]
  add x16, x16, x0
  str x16, [sp, #8]
  .endif
  subs \count, \count, x0
  b.eq 3f
  cbz x0, 3f
  cbz x17, 1b
  b 3f
2:
  cmn x0, #4
  b.ne 3f
  cbz x17, 1b
3:
  ldr x0, [sp, #16]
  .ifnb \buffer
  sub \buffer, \buffer, x0
  .endif
  add \count, \count, x0
  ldr x16, [sp], #32
  .cfi_adjust_cfa_offset -32
  .cfi_register 32, 16
  ret x16
  .cfi_endproc
  .size \name, . - \name
  .endm
  swipr_continue swipr_continued_transfer, x2, x1
  swipr_continue swipr_continued_fill, x1
  swipr_continue swipr_continued_sendfile, x3
  swipr_continue swipr_continued_copy, x4
  .purgem swipr_continue
  .popsection
)");
