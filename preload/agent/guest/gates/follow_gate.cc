#include "preload/agent/guest/gates/follow_gate.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "preload/agent/base/futex.h"
#include "preload/agent/base/libc_calls.h"
#include "preload/agent/guest/gates/control_presence.h"
#include "preload/agent/guest/gates/exit_gate.h"
#include "preload/agent/threads/own_waiters.h"
#include "preload/machine/raw_syscall.h"

namespace swipr::agent::follow_gate {

namespace {

constexpr std::chrono::seconds kMaxWait{2};

enum State : std::uint32_t { kNone, kPreparing, kAsked, kFollowing };
std::atomic<std::uint32_t> state{kNone};
SystemCall followed_call{};  // written in kPreparing, read in kFollowing

bool move_on(std::uint32_t from, std::uint32_t to) noexcept {
  return state.compare_exchange_strong(from, to);
}

}  // namespace

void ask(const SystemCall& call) noexcept {
  if (exit_gate::is_asked()) return;  // it no longer serves requests
  if (control_presence::control_tid() == 0 || !move_on(kNone, kPreparing)) return;
  followed_call = call;
  const Tid self{libc::gettid()};
  own_waiters::enter(self);
  state.store(kAsked);
  control_presence::wake();
  wait_for_change(state, kAsked, kMaxWait);
  // The arguments' targets are not valid after this returns.
  if (!move_on(kAsked, kNone)) wait_for_change(state, kFollowing, kMaxWait);
  own_waiters::leave(self);
}

void follow() noexcept {
  if (!move_on(kAsked, kFollowing)) return;
  const auto& [a, b, c] = followed_call.arguments;
  // Not through libc: its function is wrapped, and would ask this thread again.
  machine::raw_syscall(followed_call.number, a, b, c);
  state.store(kNone);
  futex_wake_all(state);
}

void reset() noexcept { state.store(kNone); }

}  // namespace swipr::agent::follow_gate
