#include "preload/agent/guest/gates/flush_gate.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "preload/agent/base/futex.h"
#include "preload/agent/base/libc_calls.h"
#include "preload/agent/guest/gates/control_presence.h"
#include "preload/agent/guest/gates/exit_gate.h"
#include "preload/agent/threads/own_waiters.h"

namespace swipr::agent::flush_gate {

namespace {

constexpr std::chrono::milliseconds kMaxWait{100};

enum State : std::uint32_t { kNone, kAsked };
std::atomic<std::uint32_t> state{kNone};

bool move_on(std::uint32_t from, std::uint32_t to) noexcept {
  return state.compare_exchange_strong(from, to);
}

}  // namespace

void ask() noexcept {
  if (!control_presence::is_owner() || !exit_gate::is_recording() || exit_gate::is_asked()) return;
  const Tid self{libc::gettid()};
  own_waiters::enter(self);
  if (move_on(kNone, kAsked)) control_presence::wake();
  wait_for_change(state, kAsked, kMaxWait);
  move_on(kAsked, kNone);  // too late now
  own_waiters::leave(self);
}

bool is_asked() noexcept { return state.load() == kAsked; }

void report_done() noexcept {
  state.store(kNone);
  futex_wake_all(state);
}

void reset() noexcept { state.store(kNone); }

}  // namespace swipr::agent::flush_gate
