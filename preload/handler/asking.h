// How the control thread and the program's threads agree on when a signal may be sent: never to a
// thread that blocks it, where it would wait and be seen by sigpending, sigwait or a signalfd.
//
// The agent names the thread that it is about to ask, then looks whether somebody is changing a
// mask; a thread says that it is changing its own, then looks whether it is being asked. One of the
// two sees the other: the agent leaves it for another tick, the thread waits until its signal is
// sent, and takes it.
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
  // Nobody is changing a mask; what was known at this epoch still holds.
  bool is_calm() const noexcept;
  // For who has seen no calm and the same epoch for long: a handler of the program has left a
  // change by longjmp.
  void forget_changes() noexcept;
  std::uint32_t mask_epoch() const noexcept;
};
// Whether anybody is asked at all: without recordings the threads' side costs nothing.
void set_asking(bool on) noexcept;
void forget_asking_after_fork() noexcept;

// The threads' side, around a change of the thread's own signal mask.
class MaskChange {
 public:
  // `blocks`: the sampling signal may be blocked afterwards.
  SWIPR_SIGNAL_SAFE explicit MaskChange(bool blocks) noexcept;
  SWIPR_SIGNAL_SAFE ~MaskChange();
  MaskChange(const MaskChange&) = delete;
  MaskChange& operator=(const MaskChange&) = delete;

 private:
  bool announced_ = false;
};

}  // namespace swipr::handler
