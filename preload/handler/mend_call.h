// Hides the effect of swipr's signal on the system call that it interrupted.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "common/core/signal_safe.h"

namespace swipr::handler {

struct MendedCall {
  enum class Outcome : std::uint8_t {
    kNone,         // the call was not affected
    kMended,       // the program gets the result that it would have got without the signal
    kInterrupted,  // the program gets EINTR that perhaps only swipr's signal caused
  };
  Outcome outcome = Outcome::kNone;
  std::int32_t number = -1;  // -1: not known
};

// Call in swipr's handler for swipr's own signal, with every signal masked.
//
// EINTR that a handler of the program caused has to stay; otherwise SIGTERM would be lost. The mark
// of leave_to_program shows whether one ran, also between this function and the handler's return.
// So a call is repeated or continued only if every handler of the program returns through
// handler_return.h, or there is none.
// Context: signal handler. Bounds: 64 system calls, and only if the call was affected.
SWIPR_SIGNAL_SAFE MendedCall mend_call(ucontext_t& context, int own_signal) noexcept;

}  // namespace swipr::handler
