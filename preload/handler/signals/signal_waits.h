// Threads that are in sigwait(3), sigtimedwait(2) or sigwaitinfo(2) for the sampling signal.
//
// During such a call, the kernel unblocks the signals that the thread waits for: the mask in `stat`
// shows them as not blocked, and the call consumes a signal that is sent to the thread. Source:
// kernel/signal.c, do_sigtimedwait.
#pragma once

#include <cstdint>

#include "common/core/signal_safe.h"

namespace swipr::handler {

// The threads' side: around the call.
class SignalWait {
 public:
  SWIPR_SIGNAL_SAFE SignalWait() noexcept;
  SWIPR_SIGNAL_SAFE ~SignalWait();
  SignalWait(const SignalWait&) = delete;
  SignalWait& operator=(const SignalWait&) = delete;

 private:
  std::uint32_t place_ = 0;
};

// The agent's side, around reading the thread's mask. A mask without the signal is reliable only if
// is_valid afterwards.
class MaskReading {
 public:
  explicit MaskReading(std::int32_t tid) noexcept;
  bool is_valid() const noexcept;

 private:
  std::int32_t tid_;
  std::uint32_t begun_;
  bool waits_;
};
// Also true if it is unknown, because too many threads wait.
bool is_in_signal_wait(std::int32_t tid) noexcept;
// The thread has ended, perhaps within such a call.
void forget_signal_wait(std::int32_t tid) noexcept;
// In the child of a fork.
void forget_signal_waits() noexcept;

}  // namespace swipr::handler
