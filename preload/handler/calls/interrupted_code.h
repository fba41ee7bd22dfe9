// Registers of code that a signal has interrupted directly after the instruction that makes a
// system call: which call it was, and how it continues when the handler returns.
//
// The handlers leave marks in the interrupted context: a call has been set up to be made again, or
// a handler of the program has run, which may have caused the result.
// x86-64: rcx, which such code expects to be destroyed. The instruction leaves the address after it
// there and the flags in r11 (Intel SDM, SYSCALL), so rcx == rip directly behind a `syscall` shows
// that the thread has just returned from it:
//   rcx == rip            just returned, no handler has changed it
//   rcx == kRepeatMark    this file has set the call up to be made again
//   rcx == kForeignMark   a handler of the program has run
// Processors with FRED keep rcx and r11: there the instruction and the absence of a mark decide.
// aarch64: the flags, if the code is seen to ignore them (call_code_aarch64.h).
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/handler/calls/system_call.h"

namespace swipr::handler {

// System calls keep rcx and r11. Written before the handler is installed.
inline bool calls_keep_registers = false;
// Makes a system call.  Context: any.
SWIPR_SIGNAL_SAFE void learn_call_registers() noexcept;

// False: the interrupted code has not just returned from a call that failed with EINTR or
// transferred something. The number is set also of a call that ended in another way, if this is
// cheap to see. It stays -1 if it is not recognised.
SWIPR_SIGNAL_SAFE bool read_call(const ucontext_t& context, SystemCall& call) noexcept;

// False: libc's waits have code in which read_call recognises none of them.
// Context: control thread.
bool recognises_calls_of_libc() noexcept;

// After the handler's return the call is made again.
SWIPR_SIGNAL_SAFE void repeat_call(ucontext_t& context, const SystemCall& call) noexcept;
// After the handler's return the rest is transferred, and the call returns the sum.
SWIPR_SIGNAL_SAFE void continue_transfer(ucontext_t& context, const SystemCall& call) noexcept;
// True: the interrupted call is one of a transfer that is being continued.
SWIPR_SIGNAL_SAFE bool is_continued_transfer(const ucontext_t& context) noexcept;
// Only swipr's signal has interrupted a continued transfer: it continues.
SWIPR_SIGNAL_SAFE void let_transfer_go_on(ucontext_t& context) noexcept;

// A handler of the program has run on top of `context`. The program gets the result of the
// interrupted call, whatever swipr's handler does next; a change that it has already made is
// undone.
SWIPR_SIGNAL_SAFE void leave_to_program(ucontext_t& context) noexcept;

}  // namespace swipr::handler
