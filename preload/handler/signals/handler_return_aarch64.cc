#include <sys/syscall.h>
#include <ucontext.h>

#include <cstddef>

#include "preload/handler/calls/interrupted_code.h"
#include "preload/handler/signals/handler_return.h"

extern "C" {

// Called from the assembly below only.
[[gnu::visibility("hidden"), gnu::used]] void swipr_on_handler_return(
    ucontext_t* context) noexcept {
  swipr::handler::leave_to_program(*context);
}

}  // extern "C"

// A handler returns with the stack pointer at the siginfo_t that rt_sigreturn expects there, with
// the ucontext_t behind it (arch/arm64/kernel/signal.c). In the call frame information each
// register lies in that context, at its place in uc_mcontext. The caller's pc is register 32
// (AADWARF64) for debuggers; libgcc ends the program at a return column that it does not know, and
// knows 96 (aarch64.h, DWARF_ALT_FRAME_RETURN_COLUMN). The information begins one instruction early
// because debuggers and exceptions look up return addresses less one. The kernel sets SA_RESTORER's
// function as the return address, without BTI.
__asm__(R"(
  .pushsection .text
  .macro swipr_saved_register number, offset
    .cfi_escape 0x10, \number, 3, 0x8f, ((\offset) & 0x7f) | 0x80, (\offset) >> 7
  .endm
  .balign 16
  .hidden swipr_handler_return
  .globl swipr_handler_return
  .type __restore_rt, @function
  .cfi_startproc
  .cfi_signal_frame
  .cfi_return_column 96
  .cfi_escape 0x0f, 4, 0x8f, 0xb0, 0x04, 0x06
  .set swipr_register, 0
  .rept 31
    swipr_saved_register swipr_register, 312 + 8 * swipr_register
    .set swipr_register, swipr_register + 1
  .endr
  swipr_saved_register 31, 560
  swipr_saved_register 32, 568
  swipr_saved_register 96, 568
__restore_rt:
  nop
swipr_handler_return:
  add x0, sp, #128
  bl swipr_on_handler_return
  mov x8, #139
  svc #0
  .cfi_endproc
  .size __restore_rt, . - __restore_rt
  .purgem swipr_saved_register
  .popsection
)");

static_assert(SYS_rt_sigreturn == 139);
static_assert(sizeof(siginfo_t) == 128);
static_assert(128 + offsetof(ucontext_t, uc_mcontext.regs) == 312);
static_assert(128 + offsetof(ucontext_t, uc_mcontext.sp) == 560);
static_assert(128 + offsetof(ucontext_t, uc_mcontext.pc) == 568);
