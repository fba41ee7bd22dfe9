#include "preload/agent/guest/gates/control_presence.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "preload/agent/base/futex.h"
#include "preload/agent/base/libc_calls.h"

namespace swipr::agent::control_presence {

namespace {

constexpr std::chrono::seconds kMaxStartWait{2};

// libc's SIGCANCEL. libc removes it from every set that a program builds and sends it only to
// single threads, by pthread_cancel and for their timers, never to this one. So only swipr makes
// the control thread's signalfd readable.
constexpr int kWakeSignal = 32;
constexpr std::uint64_t kWakeMask = std::uint64_t{1} << (kWakeSignal - 1);

enum Presence : std::uint32_t { kNone, kStarting, kAwake, kAbsent };
std::atomic<std::uint32_t> presence{kNone};
std::atomic<pid_t> owner_pid{0};
std::atomic<pid_t> control_thread{0};
std::atomic<std::uint32_t> wakers{0};

int signal_fd = -1;  // control thread only

}  // namespace

void set_owner(pid_t pid) noexcept {
  owner_pid.store(pid);
  presence.store(kStarting);
}

bool is_owner() noexcept { return owner_pid.load() == ::getpid(); }

// The signal would terminate the program if another thread that reuses the control thread's number
// received it: withdraw() clears the number, then waits for threads that may have read it.
void wake() noexcept {
  wakers.fetch_add(1);
  const pid_t tid = control_thread.load();
  if (tid != 0) ::syscall(SYS_tgkill, owner_pid.load(), tid, kWakeSignal);
  wakers.fetch_sub(1);
}

bool is_awake() noexcept { return control_thread.load() != 0; }

pid_t control_tid() noexcept {
  if (!is_owner()) return 0;
  wait_for_change(presence, kStarting, kMaxStartWait);
  return control_thread.load();
}

void set_absent() noexcept {
  presence.store(kAbsent);
  futex_wake_all(presence);
}

// By raw calls: libc's wrappers remove this signal from every set.
void open() noexcept {
  constexpr std::uint64_t kMask = kWakeMask;
  if (::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &kMask, nullptr, sizeof kMask) != 0) {
    return set_absent();
  }
  signal_fd =
      static_cast<int>(::syscall(SYS_signalfd4, -1, &kMask, sizeof kMask, O_CLOEXEC | O_NONBLOCK));
  if (signal_fd < 0) return set_absent();
  control_thread.store(libc::gettid());
  presence.store(kAwake);
  futex_wake_all(presence);
}

int poll_fd() noexcept { return signal_fd; }

bool on_readable() noexcept {
  signalfd_siginfo info{};
  ssize_t size = 0;
  while ((size = ::read(signal_fd, &info, sizeof info)) < 0 && errno == EINTR) {
  }
  return size == sizeof info && info.ssi_pid != static_cast<std::uint32_t>(owner_pid.load());
}

void withdraw() noexcept {
  control_thread.store(0);
  while (wakers.load() != 0) ::sched_yield();
}

void return_again() noexcept { control_thread.store(libc::gettid()); }

void reset() noexcept {
  owner_pid.store(0);
  control_thread.store(0);
  presence.store(kNone);
  wakers.store(0);
  signal_fd = -1;
}

}  // namespace swipr::agent::control_presence
