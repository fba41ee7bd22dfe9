// Turns signals into something that poll can wait for.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <optional>

#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::session {

struct CaughtSignal {
  int number = 0;
  bool from_kernel =
      false;  // typed at the terminal (its whole process group got it), not sent by kill
};

// Blocks the signals until it stops or is destroyed.
// Thread: before any other thread is started.
class SignalWatch {
 public:
  static host::Result<SignalWatch> create(std::initializer_list<int> signals);
  SignalWatch(SignalWatch&& other) noexcept;
  SignalWatch& operator=(SignalWatch&&) = delete;
  ~SignalWatch();

  int fd() const { return fd_.value(); }
  // The mask from before, for children.
  const sigset_t& previous_mask() const { return previous_; }
  // Ends the watch: what comes from now on, or is pending, takes its usual effect.
  void stop();
  // Never waits.
  std::optional<CaughtSignal> try_take();

 private:
  SignalWatch() = default;
  host::UniqueFd fd_;
  sigset_t previous_{};
};

}  // namespace swipr::session
