// The disposition of the sampling signal: swipr's handler while recordings run, the program's
// behind it. Whatever the program asks or sets meanwhile is its own (the wrapped sigaction comes
// here).
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>

#include "common/core/signal_safe.h"

namespace swipr::handler {

using HandlerFunction = void(int, siginfo_t*, void*) noexcept;
using SigactionFunction = int(int, const struct sigaction*, struct sigaction*);

// Around reading and changing a disposition in one step. No handler can run on top of who holds it,
// so nobody waits for himself, and nobody sleeps in it. For the owner of the dispositions only.
class DispositionLock {
 public:
  DispositionLock() noexcept;
  ~DispositionLock();
  DispositionLock(const DispositionLock&) = delete;
  DispositionLock& operator=(const DispositionLock&) = delete;

 private:
  std::uint64_t before_ = 0;
};

// Before the control thread starts: in which process it is, and with which signal it samples. 0: in
// none. A child of vfork has this memory but dispositions of its own: it is another process.
void set_disposition_owner(pid_t pid, int signal_number) noexcept;
// In the child of a fork, whose parent may have been anywhere in here.
void forget_disposition_lock() noexcept;
SWIPR_SIGNAL_SAFE bool owns_dispositions() noexcept;
SWIPR_SIGNAL_SAFE int sampling_signal() noexcept;
// Swipr's handler is there, or was: the program's disposition is known here only.
SWIPR_SIGNAL_SAFE bool is_taken(int number) noexcept;
// The program has a function of its own for the sampling signal.
SWIPR_SIGNAL_SAFE bool program_handles_signal() noexcept;

bool has_function(const struct sigaction& action) noexcept;
bool is_ignored(int number, const struct sigaction& action) noexcept;
// Swipr's handler, on whichever signal.
SWIPR_SIGNAL_SAFE bool is_own_handler(std::uint64_t function) noexcept;

// As sigaction(2) for `number`, the sampling signal or one that is taken, with the program's
// disposition in place of swipr's. `next`: whom to call while swipr's handler is not there, or no
// longer. Blocks: for some microseconds while another thread is in here, all signals masked.
SWIPR_SIGNAL_SAFE int exchange_program_action(int number, const struct sigaction* wanted,
                                              struct sigaction* before,
                                              SigactionFunction* next) noexcept;

// From now on swipr's handler runs on the stack that its signal meets: an alternate one that is
// being set up may not hold the kernel's frame for it (sigaltstack(2): the thread would be ended).
void leave_alternate_stacks() noexcept;

// What the program wants done with a signal that is not swipr's. Once: SA_RESETHAND.
// Context: swipr's handler.
SWIPR_SIGNAL_SAFE struct sigaction take_program_action(int number) noexcept;

// exec resets handlers to SIG_DFL: a signal that the program ignores has to be ignored now, and
// what is pending stays pending. If it fails, call resume; the next tick takes the signal again,
// which it does not between the two.
SWIPR_SIGNAL_SAFE void prepare_for_exec() noexcept;
SWIPR_SIGNAL_SAFE void resume_after_exec() noexcept;

// By the kernel at once.
SWIPR_SIGNAL_SAFE void set_disposition(int number, const struct sigaction& action) noexcept;

// Control thread. What install, retake and restore of signal_handler.h say.
bool install(int number, HandlerFunction* function) noexcept;
// The program leaves it at SIG_DFL.
bool is_free_to_use(int number) noexcept;
// What is installed moves to another signal, which is the sampling signal from now on; the first
// gets the program's disposition back, as by restore. No signal of swipr's may be on its way.
// False: the program has a function for the other one, or is in exec; nothing has changed.
bool move_to(int number) noexcept;
bool retake() noexcept;
void restore(bool signals_may_be_pending) noexcept;
bool installed_with_restart() noexcept;
int installed_signal() noexcept;  // 0: none

}  // namespace swipr::handler
