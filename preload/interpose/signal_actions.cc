// sigaction and the older functions above it. The program sees only its own dispositions, also of
// the sampling signal while swipr's handler is installed (disposition.h). The handlers of all other
// signals return through swipr's code (handler_return.h).
//
// The sampling signal is added to the masks of handlers on an alternate stack that may be too small
// for two handlers: on small alternate stacks, and of handlers of faults, which often use much of
// theirs. The program does not see it in the mask. Exceptions: the program handles that signal
// itself, which then must be able to arrive; and SA_NODEFER, because a program that leaves such a
// handler by longjmp would keep the signal blocked.
//
// libc's own functions that are built on sigaction do not call this wrapper, so all of them are
// wrapped. system(3), too: the handlers that it puts back do not return through swipr's code.
#include <signal.h>
#include <sys/auxv.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "common/core/errno_saver.h"
#include "preload/handler/signals/disposition.h"
#include "preload/handler/signals/handler_return.h"
#include "preload/interpose/next.h"

// libc's own name for sigaction(2).
extern "C" [[gnu::weak]] int __sigaction(int, const struct sigaction*,
                                         struct sigaction*) noexcept;  // not in musl

namespace {

using swipr::interpose::Next;
namespace handler = swipr::handler;
using Action = struct sigaction;
using SimpleHandler = void (*)(int);

constexpr int kLastSignal = 64;
constinit Next<int(int, const Action*, Action*)> next_sigaction("sigaction");
constinit Next<int(const stack_t*, stack_t*)> next_sigaltstack("sigaltstack");
constinit Next<int(const char*)> next_system("system");
constinit std::atomic<bool> has_small_stacks{false};
// Signals that swipr may use: the sampling signal and its replacement (engine.cc).
constexpr int kOwnCount = 2;
int own_signal(int which) noexcept {
  constexpr int kUsual[kOwnCount] = {SIGURG, SIGWINCH};
  const int sampling = handler::sampling_signal();
  if (sampling == kUsual[0] || sampling == kUsual[1]) return kUsual[which];
  return which == 0 ? sampling : 0;
}
// For each of them one bit per signal: swipr, not the program, has added it to the mask of that
// signal's handler.
constinit std::atomic<std::uint64_t> widened_masks[kOwnCount] = {};
// Signals whose handlers interrupt calls: siginterrupt(3).
constinit std::atomic<std::uint64_t> interrupting{0};

[[gnu::constructor]] void find_all() noexcept {
  next_sigaction.find();
  next_sigaltstack.find();
  next_system.find();
}

int call_next(int number, const Action* wanted, Action* before) {
  const int result = next_sigaction(number, wanted, before);
  if (result == 0 && wanted != nullptr) handler::redirect_return(number);
  return result;
}

// disposition.h stores the program's disposition, or will do so when a recording begins.
bool is_kept_elsewhere(int number) noexcept {
  return number == handler::sampling_signal() || handler::is_taken(number);
}

constexpr std::uint64_t bit(int number) noexcept { return std::uint64_t{1} << (number - 1); }

void set_bit(std::atomic<std::uint64_t>& word, int number, bool on) noexcept {
  if (on) {
    word.fetch_or(bit(number));
  } else {
    word.fetch_and(~bit(number));
  }
}

constexpr bool is_raised_by_faults(int number) noexcept {
  return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
         number == SIGTRAP || number == SIGABRT || number == SIGSYS;
}

bool wants_wider_mask(int number, const Action& wanted) noexcept {
  constexpr int kWhich = static_cast<int>(SA_ONSTACK | SA_NODEFER);
  return handler::has_function(wanted) && (wanted.sa_flags & kWhich) == SA_ONSTACK &&
         (has_small_stacks.load() || is_raised_by_faults(number)) &&
         !handler::program_handles_signal();
}

// One bit for each of swipr's signals that was added.
unsigned widen(int number, Action& action) noexcept {
  unsigned widened = 0;
  for (int which = 0; which < kOwnCount && wants_wider_mask(number, action); ++which) {
    const int own = own_signal(which);
    if (own == 0 || own == number || sigismember(&action.sa_mask, own) != 0) continue;
    sigaddset(&action.sa_mask, own);
    widened |= 1u << which;
  }
  return widened;
}

void note_widened(int number, unsigned widened) noexcept {
  for (int which = 0; which < kOwnCount; ++which) {
    set_bit(widened_masks[which], number, (widened >> which & 1) != 0);
  }
}

bool is_below(const stack_t& stack, std::size_t frames, std::size_t handlers) noexcept {
  return (stack.ss_flags & SS_DISABLE) == 0 &&
         stack.ss_size < frames * getauxval(AT_MINSIGSTKSZ) + handlers;
}
// Two of the kernel's frames, what swipr's handler needs, and 16 KiB for the program's.
bool is_small(const stack_t& stack) noexcept { return is_below(stack, 2, 20 << 10); }
// One frame and four times what swipr's handler needs (512 B).
bool is_too_small(const stack_t& stack) noexcept { return is_below(stack, 1, 2 << 10); }

void hide_own_signals(int number, Action& action) noexcept {
  for (int which = 0; which < kOwnCount; ++which) {
    if ((widened_masks[which].load() & bit(number)) == 0) continue;
    sigdelset(&action.sa_mask, own_signal(which));
  }
}

// Another wrapper may behave differently; libc's function would do this.
int put(int number, const Action& action) noexcept {
  if (handler::has_function(action) && next_sigaction.is(&__sigaction)) {
    return handler::put_program_handler(number, action);
  }
  const int result = next_sigaction(number, &action, nullptr);
  if (result == 0) handler::redirect_return(number);
  return result;
}

// False: swipr has just begun to use it; nothing has changed.
bool change_other_signal(int number, const Action* wanted, Action* before, int& result) noexcept {
  Action current;
  // A child of vfork shares this memory with its parent, not the dispositions.
  if (wanted == nullptr || !handler::owns_dispositions()) {
    result = next_sigaction(number, wanted, &current);
    if (is_kept_elsewhere(number) && wanted == nullptr) return false;
    if (result != 0) return true;
    hide_own_signals(number, current);
    if (before != nullptr) *before = current;
    return true;
  }
  const handler::DispositionLock lock;
  if (is_kept_elsewhere(number)) return false;
  result = next_sigaction(number, nullptr, &current);
  if (result != 0) return true;
  hide_own_signals(number, current);
  Action changed = *wanted;
  const unsigned widened = widen(number, changed);
  result = put(number, changed);
  if (result != 0) return true;
  note_widened(number, widened);
  if (before != nullptr) *before = current;
  return true;
}

void widen_all_masks() noexcept {
  const swipr::ErrnoSaver errno_saver;
  const handler::DispositionLock lock;
  for (int number = 1; number <= kLastSignal; ++number) {
    Action action;
    if (is_kept_elsewhere(number) || next_sigaction(number, nullptr, &action) != 0) continue;
    const unsigned widened = widen(number, action);
    if (widened == 0 || put(number, action) != 0) continue;
    for (int which = 0; which < kOwnCount; ++which) {
      if ((widened >> which & 1) != 0) set_bit(widened_masks[which], number, true);
    }
  }
}

int change_action(int number, const Action* wanted, Action* before) noexcept {
  if (number < 1 || number > kLastSignal) return next_sigaction(number, wanted, before);
  int result = 0;
  if (!is_kept_elsewhere(number) && change_other_signal(number, wanted, before, result))
    return result;
  return handler::exchange_program_action(number, wanted, before, call_next);
}

SimpleHandler set_simple(int number, SimpleHandler function, int flags,
                         bool masks_itself) noexcept {
  if (function == SIG_ERR || number < 1 || number > kLastSignal) {
    errno = EINVAL;
    return SIG_ERR;
  }
  Action wanted{};
  wanted.sa_handler = function;
  wanted.sa_flags = flags;
  sigemptyset(&wanted.sa_mask);
  if (masks_itself) sigaddset(&wanted.sa_mask, number);
  Action before{};
  return change_action(number, &wanted, &before) == 0 ? before.sa_handler : SIG_ERR;
}

SimpleHandler set_bsd(int number, SimpleHandler function) noexcept {
  const bool interrupts =
      number >= 1 && number <= kLastSignal && (interrupting.load() & bit(number)) != 0;
  return set_simple(number, function, interrupts ? 0 : SA_RESTART, true);
}

SimpleHandler set_system_v(int number, SimpleHandler function) noexcept {
  return set_simple(number, function, static_cast<int>(SA_RESETHAND | SA_NODEFER), false);
}

}  // namespace

SWIPR_EXPORTED int sigaction(int number, const Action* wanted, Action* before) noexcept {
  return change_action(number, wanted, before);
}

SWIPR_EXPORTED int sigaltstack(const stack_t* wanted, stack_t* before) noexcept {
  if (wanted != nullptr && is_small(*wanted) && handler::owns_dispositions() &&
      !has_small_stacks.exchange(true)) {
    widen_all_masks();
  }
  if (wanted != nullptr && is_too_small(*wanted) && handler::owns_dispositions()) {
    handler::leave_alternate_stacks();
  }
  return next_sigaltstack(wanted, before);
}

SWIPR_EXPORTED SimpleHandler signal(int number, SimpleHandler function) noexcept {
  return set_bsd(number, function);
}
SWIPR_EXPORTED SimpleHandler bsd_signal(int number, SimpleHandler function) noexcept {
  return set_bsd(number, function);
}
SWIPR_EXPORTED SimpleHandler ssignal(int number, SimpleHandler function) noexcept {
  return set_bsd(number, function);
}
SWIPR_EXPORTED SimpleHandler sysv_signal(int number, SimpleHandler function) noexcept {
  return set_system_v(number, function);
}
// Called by programs that are compiled for System V's semantics of signal().
SWIPR_EXPORTED SimpleHandler __sysv_signal(int number, SimpleHandler function) noexcept {
  return set_system_v(number, function);
}

SWIPR_EXPORTED int sigignore(int number) noexcept {
  return set_simple(number, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
}

SWIPR_EXPORTED SimpleHandler sigset(int number, SimpleHandler function) noexcept {
  sigset_t one;
  sigset_t before;
  sigemptyset(&one);
  if (function == SIG_ERR || sigaddset(&one, number) != 0) {
    errno = EINVAL;
    return SIG_ERR;
  }
  const bool hold = function == SIG_HOLD;
  Action old{};
  SimpleHandler previous = SIG_ERR;
  if (!hold) {
    previous = set_simple(number, function, 0, false);
  } else if (change_action(number, nullptr, &old) == 0) {
    previous = old.sa_handler;
  }
  if (previous == SIG_ERR) return SIG_ERR;
  if (sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &one, &before) != 0) return SIG_ERR;
  return sigismember(&before, number) == 1 ? SIG_HOLD : previous;
}

SWIPR_EXPORTED int siginterrupt(int number, int interrupts) noexcept {
  Action action;
  if (change_action(number, nullptr, &action) != 0) return -1;
  if (number >= 1 && number <= kLastSignal) set_bit(interrupting, number, interrupts != 0);
  action.sa_flags = interrupts != 0 ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
  return change_action(number, &action, nullptr);
}

// Compiled to a jump: no frame of swipr is on the stack while the command runs.
SWIPR_EXPORTED int system(const char* command) {
  handler::expect_lost_returns();
  return next_system(command);
}
