// Makes signals readable through a descriptor, for poll.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <optional>

#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::session {

struct CaughtSignal {
  int number = 0;
  bool from_kernel = false;  // sent by the terminal to the whole process group, not by kill
};

// Blocks the signals until stop() or destruction.
// Thread: create it before any other thread starts.
class SignalWatch {
 public:
  static host::Result<SignalWatch> create(std::initializer_list<int> signals);
  SignalWatch(SignalWatch&& other) noexcept;
  SignalWatch& operator=(SignalWatch&&) = delete;
  ~SignalWatch();

  int fd() const { return fd_.value(); }
  // The previous mask, for children.
  const sigset_t& previous_mask() const { return previous_; }
  // Ends the watch: pending and later signals have their usual effect.
  void stop();
  // Blocks: never.
  std::optional<CaughtSignal> try_take();

 private:
  SignalWatch() = default;
  host::UniqueFd fd_;
  sigset_t previous_{};
};

}  // namespace swipr::session
