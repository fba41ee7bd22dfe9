// Makes up for what swipr's signal did to the system call that it met the thread in.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "common/core/signal_safe.h"

namespace swipr::handler {

struct MendedCall {
  enum class Outcome : std::uint8_t {
    kNone,         // there was nothing to mend
    kMended,       // the program sees what it would have seen without the signal
    kInterrupted,  // the program sees EINTR, and no other signal's handler need be the cause
  };
  Outcome outcome = Outcome::kNone;
  std::int32_t number = -1;  // kMended: of the call
};

// Call in swipr's handler for swipr's own signal, with every signal masked.
//
// EINTR that a handler of the program caused has to stay: SIGTERM would get lost otherwise. Whether
// one ran is told by the mark that leave_to_program leaves, also for one that comes between this
// function and the handler's return. So a call is mended only while every handler of the program
// returns through handler_return.h, or there is none.
// Context: signal handler.  Bounds: 64 system calls, and only where there is something to mend.
SWIPR_SIGNAL_SAFE MendedCall mend_call(ucontext_t& context, int own_signal) noexcept;

}  // namespace swipr::handler
