#include <sys/syscall.h>

// Programs wait on futexes through this function, so most calls cost only two more instructions. It
// has no frame of its own; libc's function gets the registers and the stack unchanged. The numbers
// are in the order of <sys/syscall.h>; the seventh argument is on the stack.
// Source: System V AMD64 ABI, 3.2.3 and A.2.1.
__asm__(R"(
  .text
  .globl syscall
  .type syscall, @function
  .p2align 4
syscall:
  .cfi_startproc
  cmp $59, %rdi
  je 1f
  cmp $157, %rdi
  jb 3f
  je 1f
  cmp $272, %rdi
  je 1f
  cmp $308, %rdi
  je 1f
  cmp $317, %rdi
  je 1f
  cmp $322, %rdi
  je 1f
2:
  jmp *swipr_next_syscall(%rip)
3:
  cmp $105, %rdi
  jb 2b
  cmp $126, %rdi
  ja 2b
1:
  jmp swipr_watched_syscall
  .cfi_endproc
  .size syscall, . - syscall

  .globl swipr_bare_syscall
  .hidden swipr_bare_syscall
  .type swipr_bare_syscall, @function
  .p2align 4
swipr_bare_syscall:
  .cfi_startproc
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
  cmp $-4095, %rax
  jae 4f
  ret
4:
  neg %rax
  mov %rax, %rdi
  jmp swipr_set_errno
  .cfi_endproc
  .size swipr_bare_syscall, . - swipr_bare_syscall
)");

static_assert(SYS_execve == 59 && SYS_setuid == 105 && SYS_setgid == 106 && SYS_setreuid == 113 &&
              SYS_setregid == 114 && SYS_setgroups == 116 && SYS_setresuid == 117 &&
              SYS_setresgid == 119 && SYS_capset == 126 && SYS_prctl == 157 && SYS_unshare == 272 &&
              SYS_setns == 308 && SYS_seccomp == 317 && SYS_execveat == 322);
