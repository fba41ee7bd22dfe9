// What the code around a system call proves about a thread that has just returned from it.
//
// The kernel returns the result in x0, where the first argument was, and keeps all other registers.
// libc's wrappers have the argument in another register or know it as a constant, because they call
// functions between their own entry and the call: `mov x0, x19` in the straight code before `svc`.
// glibc since 2.41 and musl make their calls in one function, in which the argument is lost.
// Context: signal handler.  Bounds: the constants here.  Errno: kept.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "common/core/signal_safe.h"

namespace swipr::handler {

inline constexpr unsigned kStraightInstructions = 16;  // before the call
inline constexpr unsigned kFollowedInstructions = 64;  // behind it, on all ways together

// The pc is behind `svc #0`.
SWIPR_SIGNAL_SAFE bool is_behind_call(const ucontext_t& context) noexcept;
SWIPR_SIGNAL_SAFE bool is_at_call(const ucontext_t& context) noexcept;

// The first argument of the call that the pc is behind. False: the code does not tell, or a branch
// leads between where it is set and the pc (looked for in the page of the call).
SWIPR_SIGNAL_SAFE bool find_first_argument(const ucontext_t& context, std::uint64_t& out) noexcept;

// The function makes a call before it branches without condition, calls or returns, and the first
// argument of that call can be found.
SWIPR_SIGNAL_SAFE bool makes_known_call(std::uint64_t function) noexcept;

// The code behind the call sets the flags before it uses them: they may have any value.
SWIPR_SIGNAL_SAFE bool ignores_flags(std::uint64_t pc) noexcept;
// … does not use x16 and x17 before its next call or return, whose stubs may change them.
SWIPR_SIGNAL_SAFE bool ignores_scratch(std::uint64_t pc) noexcept;

}  // namespace swipr::handler
