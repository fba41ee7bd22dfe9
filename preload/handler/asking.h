// Protocol between the control thread and the program's threads on when a signal may be sent: never
// to a thread that blocks it, where it would stay pending and be visible to sigpending, sigwait or
// a signalfd.
//
// The agent announces the thread that it is about to signal, then checks whether any thread is
// changing a mask. A thread announces that it is changing its mask, then checks whether it is about
// to be signalled. At least one of the two sees the other: then the agent postpones the signal to
// another tick, or the thread waits until the signal is sent, and receives it.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/core/signal_safe.h"

namespace swipr::handler {

// The agent's side.
class Asking {
 public:
  explicit Asking(std::int32_t tid) noexcept;
  ~Asking();
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  // No thread is changing a mask; masks that were read at this epoch are still valid.
  bool is_calm() const noexcept;
  // For a caller that has seen no calm and the same epoch for long: a handler of the program has
  // left a mask change by longjmp.
  void forget_changes() noexcept;
  std::uint32_t mask_epoch() const noexcept;
};
// Whether any recording runs: without one the threads' side costs nothing.
void set_asking(bool on) noexcept;
void forget_asking_after_fork() noexcept;

// The threads' side, around a change of the thread's own signal mask.
class MaskChange {
 public:
  // `blocks`: the change may block the sampling signal.
  SWIPR_SIGNAL_SAFE explicit MaskChange(bool blocks) noexcept;
  SWIPR_SIGNAL_SAFE ~MaskChange();
  MaskChange(const MaskChange&) = delete;
  MaskChange& operator=(const MaskChange&) = delete;

 private:
  bool announced_ = false;
};

}  // namespace swipr::handler
