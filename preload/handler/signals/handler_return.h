// The code that the program's signal handlers return to, in place of libc's __restore_rt. It marks
// the interrupted call, so that swipr's handler never repeats a call that a handler of the program
// has interrupted (mend_call.h). The kernel has the program's own function, mask and flags; while
// it runs, nothing of swipr is on the stack.
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
  bool operator==(const KernelAction&) const = default;
};
// Only reads the disposition of `number` if `wanted` is nullptr. Accepts signals that libc's
// function refuses.
SWIPR_SIGNAL_SAFE bool exchange_kernel_action(int number, const KernelAction* wanted,
                                              KernelAction* before) noexcept;
// Neither SIG_DFL nor SIG_IGN.
constexpr bool has_function(const KernelAction& action) noexcept { return action.function > 1; }

// As sigaction(2) for a handler of the program, which will return to this code.
SWIPR_SIGNAL_SAFE int put_program_handler(int number, const struct sigaction& wanted) noexcept;
// Makes the installed handler return to this code, if libc has installed it.
SWIPR_SIGNAL_SAFE void redirect_return(int number) noexcept;
SWIPR_SIGNAL_SAFE bool returns_here(const KernelAction& action) noexcept;

// The program calls system(3), which ignores SIGINT and SIGQUIT meanwhile and puts their handlers
// back by calls inside libc: they then return to libc's code.
SWIPR_SIGNAL_SAFE void expect_lost_returns() noexcept;
// From then on, before each tick's signals: redirects those two.
// Context: control thread.
void redirect_lost_returns() noexcept;
// The same for one signal: a command may have ended since the tick began. False: its handler is not
// one that system(3) may have put back. True: it returns to this code now, or will do so in a few
// microseconds, because another thread that holds the lock is about to do the same.
// Context: signal handler with all signals masked.
SWIPR_SIGNAL_SAFE bool redirect_lost_return(int number) noexcept;

}  // namespace swipr::handler
