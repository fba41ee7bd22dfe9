#include <sys/syscall.h>

// System calls whose functions in libc have the first argument in x0 only, where the result
// replaces it. To hide its signal from the program, swipr's handler needs that argument
// (call_code_aarch64.h): here it is also in x9, which the kernel keeps. They have frames, so that
// the stacks of blocked threads are complete. None of them is a cancellation point.
__asm__(R"(
  .macro swipr_call name, number
  .globl \name
  .type \name, @function
  .p2align 4
\name:
  .cfi_startproc
  hint #34
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset 29, -16
  .cfi_offset 30, -8
  mov x29, sp
  sxtw x9, w0
  mov x0, x9
  mov x8, #\number
  svc #0
  ldp x29, x30, [sp], #16
  .cfi_restore 29
  .cfi_restore 30
  .cfi_def_cfa_offset 0
  cmn x0, #4095
  b.hs 1f
  ret
1:
  neg x0, x0
  b swipr_set_errno
  .cfi_endproc
  .size \name, . - \name
  .endm
  .text
  swipr_call sendfile, 71
  swipr_call semtimedop, 192
  .globl sendfile64
  .type sendfile64, @function
  .set sendfile64, sendfile
  .globl semop
  .type semop, @function
  .p2align 4
semop:
  .cfi_startproc
  hint #34
  mov x3, #0
  b semtimedop
  .cfi_endproc
  .size semop, . - semop
  .purgem swipr_call
)");

static_assert(SYS_sendfile == 71 && SYS_semtimedop == 192);
