// All of the protocols between the program's threads and the control thread.
#pragma once

#include "preload/agent/guest/gates/control_presence.h"
#include "preload/agent/guest/gates/exit_gate.h"
#include "preload/agent/guest/gates/flush_gate.h"
#include "preload/agent/guest/gates/follow_gate.h"
#include "preload/agent/guest/gates/park_gate.h"
#include "preload/agent/guest/gates/socket_files.h"
#include "preload/agent/threads/own_waiters.h"

namespace swipr::agent {

// In the child of a fork, or when the control thread is parked: no thread waits and no request is
// pending.
inline void reset_gates() noexcept {
  own_waiters::clear();
  follow_gate::reset();
  flush_gate::reset();
  exit_gate::reset();
  park_gate::reset();
  socket_files::reset();
  control_presence::reset();
}

}  // namespace swipr::agent
