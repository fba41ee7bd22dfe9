// The registers of code that a signal has interrupted right behind its `syscall` instruction: which
// call that was, and how it goes on when the handler returns. All x86-64.
//
// The kernel leaves the address behind the instruction in rcx (Intel SDM, SYSCALL), so rcx == rip
// says that the thread has just come out of a system call. What the handlers do to the context is
// left in rcx, which such code expects to be destroyed:
//   rcx == rip            just returned, nobody has dealt with it
//   rcx == kRepeatMark    this file has set the call up to be made again
//   rcx == kForeignMark   a handler of the program has run: what the call returned is its doing
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"
#include "preload/handler/system_call.h"

namespace swipr::handler {

inline constexpr std::uint64_t kForeignMark = 1;
inline constexpr std::uint64_t kRepeatMark = 0x5357'4950'5250'5443;

// The number of the call from the code in front of the address behind it: the instruction that
// sets eax, directly before `syscall` or with one or two known ones between. -1: not recognised.
inline constexpr std::size_t kCodeBytes = 24;
SWIPR_SIGNAL_SAFE std::int32_t decode_call_number(
    std::span<const std::uint8_t, kCodeBytes> code) noexcept;

// False: the interrupted code has not just come out of a call that failed with EINTR or
// transferred something. The number stays -1 where it is not recognised.
SWIPR_SIGNAL_SAFE bool read_call(const ucontext_t& context, SystemCall& call) noexcept;

// After the handler's return the call is made again.
SWIPR_SIGNAL_SAFE void repeat_call(ucontext_t& context, const SystemCall& call) noexcept;
// After the handler's return the rest is transferred, and the call returns the sum.
SWIPR_SIGNAL_SAFE void continue_transfer(ucontext_t& context, const SystemCall& call) noexcept;
// True: the interrupted call is one of a transfer that is being continued.
SWIPR_SIGNAL_SAFE bool is_continued_transfer(const ucontext_t& context) noexcept;
// A continued transfer was interrupted by swipr's signal only: it goes on.
SWIPR_SIGNAL_SAFE void let_transfer_go_on(ucontext_t& context) noexcept;

// A handler of the program has run on top of `context`. What the interrupted call returned is left
// to the program, whatever swipr's handler does next; what it has done already is undone.
SWIPR_SIGNAL_SAFE void leave_to_program(ucontext_t& context) noexcept;

}  // namespace swipr::handler
