#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "preload/handler/calls/interrupted_code.h"
#include "preload/handler/signals/handler_return.h"

extern "C" {

[[gnu::visibility("hidden")]] void swipr_handler_return();

// Called from the assembly below only.
[[gnu::visibility("hidden"), gnu::used]] void swipr_on_handler_return(
    ucontext_t* context) noexcept {
  swipr::handler::leave_to_program(*context);
}

}  // extern "C"

// A handler returns with the stack pointer at the ucontext_t that rt_sigreturn expects there
// (arch/x86/kernel/signal_64.c). The call frame information is that of libc's function: each
// register lies in that context, at its place in uc_mcontext. It begins one byte early because
// debuggers and exceptions look up return addresses less one.
__asm__(R"(
  .pushsection .text
  .macro swipr_saved_register number, offset
    .cfi_escape 0x10, \number, 3, 0x77, (\offset & 0x7f) | 0x80, \offset >> 7
  .endm
  .balign 16
  .hidden swipr_handler_return
  .globl swipr_handler_return
  .type __restore_rt, @function
  .cfi_startproc
  .cfi_signal_frame
  .cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06
  swipr_saved_register 8, 40
  swipr_saved_register 9, 48
  swipr_saved_register 10, 56
  swipr_saved_register 11, 64
  swipr_saved_register 12, 72
  swipr_saved_register 13, 80
  swipr_saved_register 14, 88
  swipr_saved_register 15, 96
  swipr_saved_register 5, 104
  swipr_saved_register 4, 112
  swipr_saved_register 6, 120
  swipr_saved_register 3, 128
  swipr_saved_register 1, 136
  swipr_saved_register 0, 144
  swipr_saved_register 2, 152
  swipr_saved_register 7, 160
  swipr_saved_register 16, 168
__restore_rt:
  nop
swipr_handler_return:
  mov %rsp, %rdi
  call swipr_on_handler_return
  mov $15, %eax
  syscall
  .cfi_endproc
  .size __restore_rt, . - __restore_rt
  .purgem swipr_saved_register
  .popsection
)");

static_assert(SYS_rt_sigreturn == 15);
static_assert(offsetof(ucontext_t, uc_mcontext.gregs[REG_R8]) == 40);
static_assert(offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]) == 168);
