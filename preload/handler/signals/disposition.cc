#include "preload/handler/signals/disposition.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/handler/signals/handler_return.h"
#include "preload/handler/signals/pending_signals.h"

// libc's own name for sigaction(2): the usual one is wrapped by this library.
extern "C" [[gnu::weak]] int __sigaction(int, const struct sigaction*,
                                         struct sigaction*) noexcept;  // not in musl

namespace swipr::handler {

namespace {

#ifdef SWIPR_TSAN
// TSan's runtime must know every handler: it delivers signals when its own state is consistent.
constinit SigactionFunction* libc_sigaction = &::sigaction;
#else
constinit SigactionFunction* libc_sigaction = &::__sigaction;
#endif

// A signal that swipr uses, and the program's disposition of it.
struct TakenSignal {
  // A ring, because a handler may still read one entry while the next is written.
  static constexpr unsigned kKept = 64;
  enum class State : std::uint8_t {
    kReleased,  // the kernel has the program's disposition
    kHeld,      // the kernel has swipr's handler
    kReset,     // the kernel has SIG_DFL with flags and mask of swipr's (pending_signals.h)
  };
  std::atomic<int> number{0};  // 0: not used yet
  std::atomic<State> state{State::kReleased};
  std::atomic<const struct sigaction*> program{nullptr};
  unsigned next = 0;
  struct sigaction ring[kKept] = {};
  struct sigaction used_up {};  // by SA_RESETHAND
};
// The default signal, its replacement, and one selected by the user (engine.cc).
constexpr std::size_t kTakenCount = 3;
constinit TakenSignal taken_signals[kTakenCount] = {};
constinit const struct sigaction kDefaultAction {};

constinit std::atomic<pid_t> owner{0};
constinit std::atomic<int> sampling{0};
constinit std::atomic<bool> program_handles{false};
constinit std::atomic<std::uint32_t> locked{0};
constinit std::atomic<int> installed{0};  // 0: none
constinit std::atomic<bool> restarts{false};
constinit std::atomic<bool> alternate_stacks_hold_it{true};
constinit HandlerFunction* own_function = nullptr;
constinit std::atomic<int> execs{0};  // threads of the owner that are in exec

bool is_own(const struct sigaction& action) noexcept {
  return own_function != nullptr && (action.sa_flags & SA_SIGINFO) != 0 &&
         action.sa_sigaction == own_function;
}

TakenSignal* find_taken(int number) noexcept {
  for (TakenSignal& each : taken_signals) {
    if (each.number.load(std::memory_order_acquire) == number) return &each;
  }
  return nullptr;
}

void keep(int number, const struct sigaction& action) noexcept {
  TakenSignal* taken = find_taken(number);
  if (taken == nullptr) taken = find_taken(0);
  if (taken == nullptr) return;
  struct sigaction& kept = taken->ring[taken->next++ % TakenSignal::kKept];
  kept = action;
  ::sigdelset(&kept.sa_mask, SIGKILL);  // as the kernel does
  ::sigdelset(&kept.sa_mask, SIGSTOP);
  taken->program.store(&kept, std::memory_order_release);
  taken->state.store(TakenSignal::State::kHeld);
  taken->number.store(number, std::memory_order_release);
  if (number == sampling.load()) program_handles.store(has_function(action));
}

struct sigaction program_action(int number) noexcept {
  const TakenSignal* const taken = find_taken(number);
  const struct sigaction* const action =
      taken == nullptr ? nullptr : taken->program.load(std::memory_order_acquire);
  return action == nullptr ? kDefaultAction : *action;
}

// The kernel's disposition is the one that swipr left, and the program has set none since.
bool is_reset(int number, const struct sigaction& current) noexcept {
  constexpr unsigned kFlags = SA_SIGINFO | SA_RESETHAND;
  const TakenSignal* const taken = find_taken(number);
  return taken != nullptr && taken->state.load() == TakenSignal::State::kReset &&
         current.sa_handler == SIG_DFL &&
         (static_cast<unsigned>(current.sa_flags) & kFlags) == kFlags;
}

// Restarts calls and uses the alternate stack if the program's own handler would. A signal that
// arrives while it runs is delivered after it has returned.
bool put_own(int number, const struct sigaction& program) noexcept {
  struct sigaction action {};
  action.sa_sigaction = own_function;
  const int asked = has_function(program) ? program.sa_flags : SA_ONSTACK | SA_RESTART;
  const int stack = alternate_stacks_hold_it.load() ? SA_ONSTACK : 0;
  action.sa_flags = SA_SIGINFO | (asked & (stack | SA_RESTART));
  restarts.store((action.sa_flags & SA_RESTART) != 0, std::memory_order_relaxed);
  ::sigfillset(&action.sa_mask);
  return libc_sigaction(number, &action, nullptr) == 0;
}

bool is_ignored_by_default(int number) noexcept {
  return number == SIGURG || number == SIGCHLD || number == SIGWINCH || number == SIGCONT;
}

// Handlers that have just begun can still read the program's disposition.
void set_state(int number, TakenSignal::State state) noexcept {
  if (TakenSignal* const taken = find_taken(number)) taken->state.store(state);
}

// Restores the program's disposition without discarding pending instances. SIG_IGN cannot be
// restored so: then swipr's handler stays and does nothing.
void give_back(int number) noexcept {
  struct sigaction current {};
  if (libc_sigaction(number, nullptr, &current) != 0 || !is_own(current)) return;
  const struct sigaction program = program_action(number);
  if (program.sa_handler == SIG_IGN) return;
  if (is_ignored(number, program)) {
    if (reset_to_default(number)) set_state(number, TakenSignal::State::kReset);
    return;
  }
  if (libc_sigaction(number, &program, nullptr) != 0) return;
  if (has_function(program)) redirect_return(number);
  set_state(number, TakenSignal::State::kReleased);
}

// In another process: of swipr's changes it has inherited at most the handler.
int exchange_as_child(int number, const struct sigaction* wanted, struct sigaction* before,
                      SigactionFunction* next) noexcept {
  struct sigaction current {};
  const int result = next(number, wanted, &current);
  const bool is_swiprs = is_own(current) || is_reset(number, current);
  if (before != nullptr) *before = is_swiprs ? program_action(number) : current;
  return result;
}

// With the lock held. In this order: code that finds swipr's handler knows that the signal is the
// sampling signal.
bool take(int number) noexcept {
  struct sigaction current {};
  if (libc_sigaction(number, nullptr, &current) != 0) return false;
  const struct sigaction program =
      is_own(current) || is_reset(number, current) ? program_action(number) : current;
  const int before = sampling.exchange(number);
  keep(number, program);
  installed.store(number);
  if (put_own(number, program)) return true;
  installed.store(0);
  sampling.store(before);
  return false;
}

}  // namespace

DispositionLock::DispositionLock() noexcept {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &kAll, &before_, sizeof before_);
  // Sleeps after some attempts: a real-time thread that only yields would keep the owner of the
  // lock from running.
  constexpr int kYields = 100;
  constexpr timespec kPause{0, 50'000};
  for (int attempt = 0; locked.exchange(1, std::memory_order_acquire) != 0; ++attempt) {
    if (attempt < kYields) {
      ::sched_yield();
    } else {
      ::syscall(SYS_nanosleep, &kPause, nullptr);
    }
  }
}

DispositionLock::~DispositionLock() {
  locked.store(0, std::memory_order_release);
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
}

DispositionTryLock::DispositionTryLock() noexcept
    : owns_(locked.exchange(1, std::memory_order_acquire) == 0) {}

DispositionTryLock::~DispositionTryLock() {
  if (owns_) locked.store(0, std::memory_order_release);
}

void use_sigaction(SigactionFunction* function) noexcept { libc_sigaction = function; }

void set_disposition_owner(pid_t pid, int signal_number) noexcept {
  sampling.store(signal_number);
  owner.store(pid);
}

void forget_disposition_lock() noexcept {
  locked.store(0);
  execs.store(0);
}

bool owns_dispositions() noexcept {
  const pid_t pid = owner.load(std::memory_order_relaxed);
  return pid != 0 && pid == ::getpid();
}

int sampling_signal() noexcept { return sampling.load(std::memory_order_relaxed); }

bool is_taken(int number) noexcept {
  const TakenSignal* const taken = find_taken(number);
  return taken != nullptr && taken->state.load() != TakenSignal::State::kReleased;
}

bool is_own_handler(std::uint64_t function) noexcept {
  return own_function != nullptr && function == reinterpret_cast<std::uint64_t>(own_function);
}

bool program_handles_signal() noexcept { return program_handles.load(std::memory_order_relaxed); }

bool has_function(const struct sigaction& action) noexcept {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

bool is_ignored(int number, const struct sigaction& action) noexcept {
  return action.sa_handler == SIG_IGN ||
         (action.sa_handler == SIG_DFL && is_ignored_by_default(number));
}

int exchange_program_action(int number, const struct sigaction* wanted, struct sigaction* before,
                            SigactionFunction* next) noexcept {
  if (!owns_dispositions()) return exchange_as_child(number, wanted, before, next);
  const DispositionLock lock;
  struct sigaction current {};
  const bool is_known = libc_sigaction(number, nullptr, &current) == 0;
  if (!is_known || !(is_own(current) || is_reset(number, current))) {
    if (is_known && wanted != nullptr && number == sampling.load())
      program_handles.store(has_function(*wanted));
    return next(number, wanted, before);
  }
  const struct sigaction old = program_action(number);
  if (wanted != nullptr && is_own(current) && number == installed.load()) {
    keep(number, *wanted);
    put_own(number, *wanted);
  } else if (wanted != nullptr) {
    if (next(number, wanted, nullptr) != 0) return -1;
    set_state(number, TakenSignal::State::kReleased);
    if (number == sampling.load()) program_handles.store(has_function(*wanted));
  }
  if (before != nullptr) *before = old;
  return 0;
}

struct sigaction take_program_action(int number) noexcept {
  TakenSignal* const taken = find_taken(number);
  if (taken == nullptr) return kDefaultAction;
  const struct sigaction* kept = taken->program.load(std::memory_order_acquire);
  const struct sigaction action = *kept;
  if (has_function(action) && (action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    taken->used_up = action;
    taken->used_up.sa_handler = SIG_DFL;
    taken->program.compare_exchange_strong(kept, &taken->used_up, std::memory_order_acq_rel);
  }
  return action;
}

void set_disposition(int number, const struct sigaction& action) noexcept {
  libc_sigaction(number, &action, nullptr);
}

bool install(int number, HandlerFunction* function) noexcept {
  const DispositionLock lock;
  own_function = function;
  return take(number);
}

bool retake() noexcept {
  const int number = installed.load();
  struct sigaction current {};
  if (number == 0 || libc_sigaction(number, nullptr, &current) != 0 || is_own(current))
    return false;
  const DispositionLock lock;
  if (libc_sigaction(number, nullptr, &current) != 0 || is_own(current)) return false;
  if (execs.load() != 0) return false;  // for the new image
  keep(number, current);
  return put_own(number, current);
}

void leave_alternate_stacks() noexcept {
  if (!alternate_stacks_hold_it.exchange(false)) return;
  const DispositionLock lock;
  for (const TakenSignal& taken : taken_signals) {
    const int number = taken.number.load();
    struct sigaction current {};
    if (number == 0 || libc_sigaction(number, nullptr, &current) != 0 || !is_own(current)) continue;
    put_own(number, program_action(number));
  }
}

void restore(bool signals_may_be_pending) noexcept {
  if (installed.load() == 0 || signals_may_be_pending) return;
  const DispositionLock lock;
  installed.store(0);
  for (const TakenSignal& taken : taken_signals) {
    if (const int number = taken.number.load(); number != 0) give_back(number);
  }
}

bool is_free_to_use(int number) noexcept {
  struct sigaction program {};
  exchange_program_action(number, nullptr, &program, libc_sigaction);
  return program.sa_handler == SIG_DFL;
}

bool move_to(int number) noexcept {
  const DispositionLock lock;
  struct sigaction current {};
  struct sigaction wanted {};
  const int from = installed.load();
  if (execs.load() != 0 || libc_sigaction(from, nullptr, &current) != 0 || !is_own(current) ||
      libc_sigaction(number, nullptr, &wanted) != 0 || (has_function(wanted) && !is_own(wanted))) {
    return false;
  }
  if (!take(number)) return false;
  give_back(from);
  return true;
}

void prepare_for_exec() noexcept {
  if (owns_dispositions()) execs.fetch_add(1);
  for (const TakenSignal& taken : taken_signals) {
    const int number = taken.number.load();
    struct sigaction current {};
    if (number == 0 || libc_sigaction(number, nullptr, &current) != 0 || !is_own(current)) continue;
    if (program_action(number).sa_handler == SIG_IGN) ignore_for_exec(number);
  }
}

void resume_after_exec() noexcept {
  if (owns_dispositions()) execs.fetch_sub(1);
}

bool installed_with_restart() noexcept { return restarts.load(std::memory_order_relaxed); }

int installed_signal() noexcept { return installed.load(std::memory_order_relaxed); }

}  // namespace swipr::handler
