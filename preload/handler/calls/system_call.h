// A system call that a signal has just interrupted, and how to hide that from the program.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"

namespace swipr::handler {

// What a register or a word has that should be the number of a call. -1: it is none.
constexpr std::int32_t to_call_number(std::uint64_t value) noexcept {
  constexpr std::uint64_t kNumbers = 1024;
  return value < kNumbers ? static_cast<std::int32_t>(value) : -1;
}

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

// The arguments of a transfer that change with the number of bytes transferred.
struct Rest {
  int buffer;  // -1: the kernel updates the offset itself
  int count;
};
SWIPR_SIGNAL_SAFE Rest rest_of(const SystemCall& call) noexcept;

// How to hide a signal during this call; kNone also if the call was not interrupted. Only calls
// that have had no effect when they fail with EINTR are repeated. Absolute timeouts, and those that
// the kernel updates (select, pselect6, ppoll: fs/select.c, poll_select_finish), stay exact. A
// relative timeout starts again: the wait may be extended by the time already waited.
// Context: signal handler.  Source: signal(7), "Interruption of system calls and library
// functions".
SWIPR_SIGNAL_SAFE Remedy find_remedy(const SystemCall& call) noexcept;

// True: a transfer of this kind is short only if something ended it early. Asks the kernel for the
// type of the descriptor.
SWIPR_SIGNAL_SAFE bool fills_its_count(const SystemCall& call) noexcept;

}  // namespace swipr::handler
