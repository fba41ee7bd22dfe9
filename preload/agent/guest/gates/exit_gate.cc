#include "preload/agent/guest/gates/exit_gate.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "preload/agent/base/futex.h"
#include "preload/agent/base/libc_calls.h"
#include "preload/agent/guest/gates/control_presence.h"
#include "preload/agent/guest/gates/socket_files.h"
#include "preload/agent/threads/own_waiters.h"

namespace swipr::agent::exit_gate {

namespace {

using namespace std::chrono_literals;

constexpr Moment kMaxWait = 200ms;
constexpr Moment kLookAgain = 50ms;  // if no signal can wake it

std::atomic<std::uint32_t> asked{0};
std::atomic<std::uint32_t> finished{0};
std::atomic<std::uint32_t> recording_now{0};

}  // namespace

void pass() noexcept {
  const Tid self{libc::gettid()};
  own_waiters::enter(self);
  if (!control_presence::is_owner()) return own_waiters::leave(self);
  asked.store(1);
  // After chroot only the control thread can reach the files.
  const bool removed = socket_files::remove_for_good();
  if (!is_recording() && (removed || !control_presence::is_awake())) return;
  control_presence::wake();
  wait_for_change(finished, 0, kMaxWait);
}

bool is_asked() noexcept { return asked.load() != 0; }

bool is_recording() noexcept { return recording_now.load() != 0; }

bool enter_recording() noexcept {
  recording_now.store(1);
  return asked.load() == 0;
}

void update(bool recording) noexcept { recording_now.store(recording ? 1 : 0); }

Moment look_again_at(Moment now) noexcept {
  if (!is_recording() || control_presence::poll_fd() >= 0) return kNever;
  return now + kLookAgain;
}

void report_finished() noexcept {
  socket_files::unlink_all();
  finished.store(1);
  futex_wake_all(finished);
}

void reset() noexcept {
  asked.store(0);
  finished.store(0);
  recording_now.store(0);
}

}  // namespace swipr::agent::exit_gate
