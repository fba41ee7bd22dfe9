// A system call out of which a signal has just taken a thread, and what keeps the program from
// noticing.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"

namespace swipr::handler {

struct SystemCall {
  std::int32_t number = -1;  // -1: not known
  std::array<std::uint64_t, 6> arguments{};
  std::int64_t result = 0;  // -errno when it failed
};

enum class Remedy : std::uint8_t {
  kNone,
  kRepeat,    // nothing was done: the same call again, with the same arguments
  kContinue,  // a part was transferred: the same call for the rest
};

// Which arguments of a transfer move on with what has been transferred.
struct Rest {
  int buffer;  // -1: the kernel keeps the place itself
  int count;
};
SWIPR_SIGNAL_SAFE Rest rest_of(const SystemCall& call) noexcept;

// What makes up for a signal during this call; kNone also where the call was not cut short. Repeats
// only calls that have done nothing when they fail with EINTR. Their time-outs: absolute ones and
// those that the kernel counts down in place (select, pselect6, ppoll: fs/select.c,
// poll_select_finish) stay exact; a relative one starts again, so the wait may last longer by what
// it had lasted.
// Context: signal handler.  Source: signal(7), "Interruption of system calls and library
// functions".
SWIPR_SIGNAL_SAFE Remedy find_remedy(const SystemCall& call) noexcept;

// True: a transfer of this kind comes back short only when something ended it early. Asks the
// kernel what the descriptor is.
SWIPR_SIGNAL_SAFE bool fills_its_count(const SystemCall& call) noexcept;

}  // namespace swipr::handler
