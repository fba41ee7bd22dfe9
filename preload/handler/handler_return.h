// Where the program's signal handlers return to, in place of libc's __restore_rt: what they have
// interrupted stays theirs, so swipr's handler never mends a call that a handler of the program has
// interrupted (mend_call.h). The kernel knows the program's own function, mask and flags; nothing
// of swipr's is on the stack while it runs.
#pragma once

#include <signal.h>

#include <cstdint>

#include "common/core/signal_safe.h"

namespace swipr::handler {

// The kernel's struct sigaction.  Source: include/linux/signal_types.h.
struct KernelAction {
  std::uint64_t function = 0;
  std::uint64_t flags = 0;
  std::uint64_t restorer = 0;
  std::uint64_t mask = 0;
};
// Reads the disposition of `number` where `wanted` is nullptr. Also of signals that libc's function
// refuses.
SWIPR_SIGNAL_SAFE bool exchange_kernel_action(int number, const KernelAction* wanted,
                                              KernelAction* before) noexcept;
// Neither SIG_DFL nor SIG_IGN.
constexpr bool has_function(const KernelAction& action) noexcept { return action.function > 1; }

// As sigaction(2) for a handler of the program, one that returns here.
SWIPR_SIGNAL_SAFE int put_program_handler(int number, const struct sigaction& wanted) noexcept;
// The handler that is there, if it is one that libc has installed, returns here from now on.
SWIPR_SIGNAL_SAFE void redirect_return(int number) noexcept;
SWIPR_SIGNAL_SAFE bool returns_here(const KernelAction& action) noexcept;

}  // namespace swipr::handler
