#include "preload/agent/guest/gates/park_gate.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "preload/agent/base/futex.h"
#include "preload/agent/base/moment.h"
#include "preload/agent/guest/gates/control_presence.h"
#include "preload/agent/guest/gates/exit_gate.h"
#include "preload/agent/guest/gates/socket_files.h"

namespace swipr::agent::park_gate {

namespace {

constexpr Moment kMaxWait = std::chrono::seconds(2);

enum State : std::uint32_t { kNone, kAsked, kParking, kCalledBack, kGone };
std::atomic<std::uint32_t> state{kNone};

bool move_on(std::uint32_t from, std::uint32_t to) noexcept {
  return state.compare_exchange_strong(from, to);
}

bool is_thread(pid_t tid) noexcept { return ::syscall(SYS_tgkill, ::getpid(), tid, 0) == 0; }

// Waits until the kernel has removed the thread: only then is the caller the only one. This needs
// only CPU time. The thread can no longer be found a moment before it gives its signal handlers
// back, without which unshare refuses CLONE_SIGHAND and CLONE_VM; the kernel holds tasklist_lock
// meanwhile, for which getpriority of a process group waits.
// Source: kernel, kernel/exit.c, release_task and __exit_signal; kernel/sys.c, getpriority.
void wait_until_gone(pid_t tid) noexcept {
  const Moment end = monotonic_now() + kMaxWait;
  while (is_thread(tid) && monotonic_now() < end) ::sched_yield();
  ::syscall(SYS_getpriority, PRIO_PGRP, 0);
}

}  // namespace

bool ask(WhenLate when_late) noexcept {
  if (exit_gate::is_asked()) return false;
  const pid_t tid = control_presence::control_tid();
  if (tid == 0 || !move_on(kNone, kAsked)) return false;
  control_presence::wake();
  const Moment deadline = monotonic_now() + kMaxWait;
  wait_for_change(state, kAsked, kMaxWait);
  if (move_on(kAsked, kNone)) return false;  // it does not respond
  wait_for_change(state, kParking, std::max(deadline - monotonic_now(), Moment::zero()));
  if (when_late == WhenLate::kStays && move_on(kParking, kCalledBack)) return false;
  if (state.load() != kGone) return false;
  socket_files::unlink_all();  // the caller may have privileges that the control thread lacked
  wait_until_gone(tid);
  return true;
}

bool begin() noexcept {
  if (!move_on(kAsked, kParking)) return false;
  control_presence::withdraw();
  return true;
}

bool end() noexcept {
  socket_files::unlink_all();
  if (move_on(kParking, kGone)) {
    futex_wake_all(state);
    return true;
  }
  socket_files::forget();
  control_presence::return_again();
  state.store(kNone);
  return false;
}

void reset() noexcept { state.store(kNone); }

}  // namespace swipr::agent::park_gate
