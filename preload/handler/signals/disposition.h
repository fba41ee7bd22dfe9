// The disposition of the sampling signal. While recordings run, swipr's handler is installed, and
// the program's disposition is stored here: the wrapped sigaction reads and sets the stored one.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>

#include "common/core/signal_safe.h"

namespace swipr::handler {

using HandlerFunction = void(int, siginfo_t*, void*) noexcept;
using SigactionFunction = int(int, const struct sigaction*, struct sigaction*);

// Lock around reading and changing a disposition in one step. Signals are blocked while it is held,
// so a thread never waits for itself, and its owner does not sleep. Only for the process that owns
// the dispositions.
class DispositionLock {
 public:
  DispositionLock() noexcept;
  ~DispositionLock();
  DispositionLock(const DispositionLock&) = delete;
  DispositionLock& operator=(const DispositionLock&) = delete;

 private:
  std::uint64_t before_ = 0;
};

// The same in a handler that masks all signals, without waiting.
class DispositionTryLock {
 public:
  SWIPR_SIGNAL_SAFE DispositionTryLock() noexcept;
  SWIPR_SIGNAL_SAFE ~DispositionTryLock();
  DispositionTryLock(const DispositionTryLock&) = delete;
  DispositionTryLock& operator=(const DispositionTryLock&) = delete;
  SWIPR_SIGNAL_SAFE bool is_owner() const noexcept { return owns_; }

 private:
  bool owns_;
};

// At load, where libc has no other name for sigaction(2) than the one that is wrapped (musl): the
// function behind the wrapper.
void use_sigaction(SigactionFunction* function) noexcept;
// Called before the control thread starts, with the pid of its process and the sampling signal. Pid
// 0: none. A child of vfork shares this memory but has dispositions of its own: it is another
// process.
void set_disposition_owner(pid_t pid, int signal_number) noexcept;
// In the child of a fork, whose parent may have held the lock.
void forget_disposition_lock() noexcept;
SWIPR_SIGNAL_SAFE bool owns_dispositions() noexcept;
SWIPR_SIGNAL_SAFE int sampling_signal() noexcept;
// swipr's handler is or was installed: the program's disposition is stored only here.
SWIPR_SIGNAL_SAFE bool is_taken(int number) noexcept;
// The program has its own handler for the sampling signal.
SWIPR_SIGNAL_SAFE bool program_handles_signal() noexcept;

bool has_function(const struct sigaction& action) noexcept;
bool is_ignored(int number, const struct sigaction& action) noexcept;
// swipr's handler, on any signal.
SWIPR_SIGNAL_SAFE bool is_own_handler(std::uint64_t function) noexcept;

// As sigaction(2) for `number`, the sampling signal or one that is taken, with the program's
// disposition in place of swipr's. `next`: the function to call if swipr's handler is not installed
// (any more). Blocks: some microseconds while another thread holds the lock, all signals masked.
SWIPR_SIGNAL_SAFE int exchange_program_action(int number, const struct sigaction* wanted,
                                              struct sigaction* before,
                                              SigactionFunction* next) noexcept;

// From now on swipr's handler runs on the current stack: an alternate stack that the program sets
// up may be too small for the kernel's signal frame (sigaltstack(2): the kernel would kill the
// process).
void leave_alternate_stacks() noexcept;

// The program's disposition for a signal that swipr did not send. Resets it if SA_RESETHAND is set.
// Context: swipr's handler.
SWIPR_SIGNAL_SAFE struct sigaction take_program_action(int number) noexcept;

// Before exec, which resets handlers to SIG_DFL: a signal that the program ignores has to be
// ignored now, and pending instances stay pending. If exec fails, call resume; the next tick then
// installs the handler again, which does not happen between the two.
SWIPR_SIGNAL_SAFE void prepare_for_exec() noexcept;
SWIPR_SIGNAL_SAFE void resume_after_exec() noexcept;

// By the kernel at once.
SWIPR_SIGNAL_SAFE void set_disposition(int number, const struct sigaction& action) noexcept;

// Control thread. What install, retake and restore of signal_handler.h say.
bool install(int number, HandlerFunction* function) noexcept;
// The program leaves it at SIG_DFL.
bool is_free_to_use(int number) noexcept;
// Moves the handler to another signal, which is the sampling signal from now on; the first gets the
// program's disposition back, as by restore. No signal of swipr may be pending. False: the program
// has a handler for the other signal, or is in exec; nothing has changed.
bool move_to(int number) noexcept;
bool retake() noexcept;
void restore(bool signals_may_be_pending) noexcept;
bool installed_with_restart() noexcept;
int installed_signal() noexcept;  // 0: none

}  // namespace swipr::handler
