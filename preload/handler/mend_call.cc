#include "preload/handler/mend_call.h"

#include <signal.h>

#include <cerrno>

#include "preload/handler/calls/interrupted_code.h"
#include "preload/handler/signals/disposition.h"
#include "preload/handler/signals/handler_return.h"

namespace swipr::handler {

namespace {

bool is_raised_by_faults(int number) noexcept {
  return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
         number == SIGTRAP;
}

// libc's own two signals (cancellation, setuid) do not interrupt waits in a way that a program
// could expect.
bool is_of_libc(int number) noexcept { return number == 32 || number == 33; }

bool runs_unmarked(int number) noexcept {
  KernelAction action;
  return exchange_kernel_action(number, nullptr, &action) && has_function(action) &&
         !returns_here(action) && !is_own_handler(action.function);
}

bool program_can_be_asked(int own_signal) noexcept {
  constexpr int kSignals = 64;
  for (int number = 1; number <= kSignals; ++number) {
    if (number == own_signal || is_raised_by_faults(number) || is_of_libc(number)) continue;
    if (runs_unmarked(number) && !redirect_lost_return(number)) return false;
  }
  return true;
}

}  // namespace

MendedCall mend_call(ucontext_t& context, int own_signal) noexcept {
  using Outcome = MendedCall::Outcome;
  SystemCall call;
  if (!read_call(context, call)) return {Outcome::kNone, call.number};
  if (is_continued_transfer(context)) {
    if (program_can_be_asked(own_signal)) let_transfer_go_on(context);
    return {Outcome::kNone, call.number};
  }
  const Outcome unmended = call.result == -EINTR ? Outcome::kInterrupted : Outcome::kNone;
  const MendedCall left{unmended, call.number};
  const Remedy remedy = find_remedy(call);
  if (remedy == Remedy::kNone) return left;
  if (remedy == Remedy::kContinue && !fills_its_count(call)) return left;
  if (!program_can_be_asked(own_signal)) return left;
  if (remedy == Remedy::kRepeat) {
    repeat_call(context, call);
  } else {
    continue_transfer(context, call);
  }
  return {Outcome::kMended, call.number};
}

}  // namespace swipr::handler
