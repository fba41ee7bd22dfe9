#include <sys/syscall.h>

// Programs wait on futexes through this function, so most calls cost only a few more instructions.
// It has no frame of its own; libc's function gets the registers and the stack unchanged. x16 and
// x17 are free between functions (AAPCS64, 6.1.1). Source of the system call:
// raw_syscall_aarch64.h.
__asm__(R"(
  .text
  .globl syscall
  .type syscall, @function
  .p2align 4
syscall:
  .cfi_startproc
  hint #34
  cmp x0, #91
  b.eq 1f
  cmp x0, #97
  b.eq 1f
  cmp x0, #167
  b.eq 1f
  cmp x0, #221
  b.eq 1f
  cmp x0, #268
  b.eq 1f
  cmp x0, #277
  b.eq 1f
  cmp x0, #281
  b.eq 1f
  cmp x0, #143
  b.lo 2f
  cmp x0, #159
  b.ls 1f
2:
  adrp x16, swipr_next_syscall
  ldr x16, [x16, :lo12:swipr_next_syscall]
  br x16
1:
  b swipr_watched_syscall
  .cfi_endproc
  .size syscall, . - syscall

  .globl swipr_bare_syscall
  .hidden swipr_bare_syscall
  .type swipr_bare_syscall, @function
  .p2align 4
swipr_bare_syscall:
  .cfi_startproc
  hint #34
  mov x8, x0
  mov x0, x1
  mov x1, x2
  mov x2, x3
  mov x3, x4
  mov x4, x5
  mov x5, x6
  svc #0
  cmn x0, #4095
  b.hs 4f
  ret
4:
  neg x0, x0
  b swipr_set_errno
  .cfi_endproc
  .size swipr_bare_syscall, . - swipr_bare_syscall
)");

static_assert(SYS_execve == 221 && SYS_setuid == 146 && SYS_setgid == 144 && SYS_setreuid == 145 &&
              SYS_setregid == 143 && SYS_setgroups == 159 && SYS_setresuid == 147 &&
              SYS_setresgid == 149 && SYS_capset == 91 && SYS_prctl == 167 && SYS_unshare == 97 &&
              SYS_setns == 268 && SYS_seccomp == 277 && SYS_execveat == 281);
