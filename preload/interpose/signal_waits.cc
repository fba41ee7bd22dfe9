// The functions that consume a pending signal. swipr sends none to a thread that is in one
// (signal_waits.h) or blocks the signal. If such a function receives one nevertheless, because the
// thread waits for a signal that it does not block, the program does not get it.
#include "preload/handler/signals/signal_waits.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "common/core/errno_saver.h"
#include "preload/handler/signals/disposition.h"
#include "preload/handler/signals/own_signal.h"
#include "preload/interpose/next.h"

namespace {

using swipr::interpose::Next;
namespace handler = swipr::handler;

constinit Next<int(const sigset_t*, siginfo_t*, const timespec*)> next_sigtimedwait("sigtimedwait");
constinit Next<int(const sigset_t*, siginfo_t*)> next_sigwaitinfo("sigwaitinfo");
constinit Next<int(const sigset_t*, int*)> next_sigwait("sigwait");

[[gnu::constructor]] void find_all() noexcept {
  next_sigtimedwait.find();
  next_sigwaitinfo.find();
  next_sigwait.find();
}

bool waits_for_swiprs(const sigset_t* set) noexcept {
  const int sampling = handler::sampling_signal();
  return sampling != 0 && sigismember(set, sampling) == 1;
}

constexpr std::int64_t kSecond = 1'000'000'000;

// The kernel's clock: another preload may fake libc's.
std::int64_t now_ns() noexcept {
  timespec now{};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * kSecond + now.tv_nsec;
}

// What is left of `whole`.
timespec rest_of(const timespec& whole, std::int64_t begun_ns) noexcept {
  const std::int64_t passed = now_ns() - begun_ns;
  const std::int64_t wanted = std::int64_t{whole.tv_sec} * kSecond + whole.tv_nsec;
  const std::int64_t left = passed < wanted ? wanted - passed : 0;
  return {left / kSecond, left % kSecond};
}

// -1: errno says why.
int wait_for_the_programs(const sigset_t* set, siginfo_t* info, const timespec* limit) noexcept {
  const std::int64_t begun_ns = limit == nullptr ? 0 : now_ns();
  siginfo_t taken;
  const handler::SignalWait wait;
  int number =
      limit == nullptr ? next_sigwaitinfo(set, &taken) : next_sigtimedwait(set, &taken, limit);
  while (number > 0 && handler::is_own_signal(taken)) {
    if (limit == nullptr) {
      number = next_sigwaitinfo(set, &taken);
    } else {
      const timespec left = rest_of(*limit, begun_ns);
      number = next_sigtimedwait(set, &taken, &left);
    }
  }
  if (number > 0 && info != nullptr) *info = taken;
  return number;
}

}  // namespace

SWIPR_EXPORTED int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* limit) {
  if (!waits_for_swiprs(set)) return next_sigtimedwait(set, info, limit);
  return wait_for_the_programs(set, info, limit);
}

SWIPR_EXPORTED int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  if (!waits_for_swiprs(set)) return next_sigwaitinfo(set, info);
  return wait_for_the_programs(set, info, nullptr);
}

// Returns the error, and continues after EINTR as libc's function does.
SWIPR_EXPORTED int sigwait(const sigset_t* set, int* number) {
  if (!waits_for_swiprs(set)) return next_sigwait(set, number);
  const swipr::ErrnoSaver errno_saver;
  for (;;) {
    const int taken = wait_for_the_programs(set, nullptr, nullptr);
    if (taken > 0) {
      *number = taken;
      return 0;
    }
    if (errno != EINTR) return errno;
  }
}
