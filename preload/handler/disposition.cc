#include "preload/handler/disposition.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

// libc's own name for sigaction(2): the usual one is wrapped by this library.
extern "C" [[gnu::weak]] int __sigaction(int, const struct sigaction*,
                                         struct sigaction*) noexcept;  // not in musl

namespace swipr::handler {

namespace {

#ifdef __SANITIZE_THREAD__
// Its runtime must hear of every handler: it hands signals on where its own state is whole.
constexpr SigactionFunction* libc_sigaction = &::sigaction;
#else
constexpr SigactionFunction* libc_sigaction = &::__sigaction;
#endif

// A ring, because a handler may still read one while the next is taken.
constexpr unsigned kPreviousCount = 64;
constinit struct sigaction previous_ring[kPreviousCount] = {};
constinit unsigned previous_next = 0;
constinit std::atomic<const struct sigaction*> previous_action{nullptr};
constinit const struct sigaction kDefaultAction {};
constinit struct sigaction reset_action {};  // the one that SA_RESETHAND has used up

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

void keep(const struct sigaction& action) noexcept {
  struct sigaction& kept = previous_ring[previous_next++ % kPreviousCount];
  kept = action;
  ::sigdelset(&kept.sa_mask, SIGKILL);  // as the kernel does
  ::sigdelset(&kept.sa_mask, SIGSTOP);
  previous_action.store(&kept, std::memory_order_release);
  program_handles.store(has_function(action), std::memory_order_relaxed);
}

struct sigaction previous() noexcept {
  const struct sigaction* action = previous_action.load(std::memory_order_acquire);
  return action == nullptr ? kDefaultAction : *action;
}

// Restarts and uses the alternate stack where the program's own handler would. A signal that comes
// while it runs is delivered when it has returned.
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
  return number == SIGURG || number == SIGCHLD || number == SIGWINCH;
}

// In another process: of its own dispositions it has inherited swipr's handler at most.
int exchange_as_child(int number, const struct sigaction* wanted, struct sigaction* before,
                      SigactionFunction* next) noexcept {
  struct sigaction current {};
  const int result = next(number, wanted, &current);
  if (before != nullptr) *before = is_own(current) ? previous() : current;
  return result;
}

}  // namespace

DispositionLock::DispositionLock() noexcept {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &kAll, &before_, sizeof before_);
  // Sleeps in the end: a real-time thread that only yields keeps its CPU from who holds the lock.
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
  const int result = libc_sigaction(number, nullptr, &current);
  if (result != 0 || !is_own(current)) {
    if (result == 0 && wanted != nullptr && number == sampling.load())
      program_handles.store(has_function(*wanted));
    return next(number, wanted, before);
  }
  const struct sigaction old = previous();
  if (wanted != nullptr) {
    keep(*wanted);
    put_own(number, *wanted);
  }
  if (before != nullptr) *before = old;
  return 0;
}

struct sigaction take_program_action() noexcept {
  const struct sigaction* kept = previous_action.load(std::memory_order_acquire);
  if (kept == nullptr) return kDefaultAction;
  const struct sigaction action = *kept;
  if (has_function(action) && (action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    reset_action = action;
    reset_action.sa_handler = SIG_DFL;
    previous_action.compare_exchange_strong(kept, &reset_action, std::memory_order_acq_rel);
  }
  return action;
}

void set_disposition(int number, const struct sigaction& action) noexcept {
  libc_sigaction(number, &action, nullptr);
}

bool install(int number, HandlerFunction* function) noexcept {
  const DispositionLock lock;
  own_function = function;
  struct sigaction current {};
  if (libc_sigaction(number, nullptr, &current) != 0) return false;
  installed.store(number);
  // Still there from the last time: restore left it.
  if (is_own(current)) return true;
  keep(current);
  if (put_own(number, current)) return true;
  installed.store(0);
  return false;
}

bool retake() noexcept {
  const int number = installed.load();
  struct sigaction current {};
  if (number == 0 || libc_sigaction(number, nullptr, &current) != 0 || is_own(current))
    return false;
  const DispositionLock lock;
  if (libc_sigaction(number, nullptr, &current) != 0 || is_own(current)) return false;
  if (execs.load() != 0) return false;  // it is for the new image
  keep(current);
  return put_own(number, current);
}

void leave_alternate_stacks() noexcept {
  if (!alternate_stacks_hold_it.exchange(false)) return;
  const DispositionLock lock;
  const int number = installed.load();
  struct sigaction current {};
  if (number == 0 || libc_sigaction(number, nullptr, &current) != 0 || !is_own(current)) return;
  put_own(number, previous());
}

void restore(bool signals_may_be_pending) noexcept {
  const int number = installed.load();
  if (number == 0 || signals_may_be_pending) return;
  const DispositionLock lock;
  installed.store(0);
  struct sigaction current {};
  if (libc_sigaction(number, nullptr, &current) != 0 || !is_own(current)) return;
  const struct sigaction program = previous();
  libc_sigaction(number, &program, nullptr);
}

bool move_to(int number) noexcept {
  const DispositionLock lock;
  struct sigaction current {};
  struct sigaction wanted {};
  const int from = installed.load();
  if (execs.load() != 0 || libc_sigaction(from, nullptr, &current) != 0 || !is_own(current) ||
      libc_sigaction(number, nullptr, &wanted) != 0 || has_function(wanted)) {
    return false;
  }
  const struct sigaction program = previous();
  libc_sigaction(from, &program, nullptr);
  // In this order: who finds swipr's handler knows that it is the sampling signal's.
  sampling.store(number);
  keep(wanted);
  installed.store(number);
  return put_own(number, wanted);
}

void prepare_for_exec() noexcept {
  if (owns_dispositions()) execs.fetch_add(1);
  const int number = sampling.load();
  struct sigaction current {};
  if (number == 0 || libc_sigaction(number, nullptr, &current) != 0 || !is_own(current)) return;
  const struct sigaction program = previous();
  if (program.sa_handler == SIG_IGN) libc_sigaction(number, &program, nullptr);
}

void resume_after_exec() noexcept {
  if (owns_dispositions()) execs.fetch_sub(1);
}

bool installed_with_restart() noexcept { return restarts.load(std::memory_order_relaxed); }

int installed_signal() noexcept { return installed.load(std::memory_order_relaxed); }

}  // namespace swipr::handler
