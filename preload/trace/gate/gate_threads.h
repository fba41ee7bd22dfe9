// Whether all threads are outside of some bytes. Imports nothing, as gate.h says.
// Context: control thread, in the window between gate and patch.
#pragma once

#include <cstdint>
#include <span>

#include "preload/trace/base/atomic.h"
#include "preload/trace/plan/plan.h"

namespace swipr::trace {

enum class GateAnswer : std::uint8_t {
  kWaited,   // not shown to be outside yet
  kAsked,    // has a signal
  kReturns,  // answered, but will return into the bytes from a handler: asked again
  kOutside,
};

// Addresses inside of a patch, behind its first byte. They are never in memory as they are: a
// search of a thread's stack may read memory behind it, such as other threads' alternate stacks,
// where swipr's handler has just run.
class ForbiddenCode {
 public:
  constexpr ForbiddenCode() noexcept = default;
  constexpr explicit ForbiddenCode(std::uint64_t patch) noexcept : complement_(~patch) {}
  bool contains(std::uint64_t pc) const noexcept {
    const std::uint64_t distance = complement_ - ~pc;  // from the patch
    return distance - 1 < kJumpBytes - 1;
  }

 private:
  std::uint64_t complement_ = 0;
};

// A thread and its answer, with the gate's number above it: a handler that is late, after the gate
// was closed, changes nothing.
struct GateThread {
  std::int32_t tid;
  Atomic<std::uint64_t> answer;
};

inline constexpr std::uint32_t kMostGateThreads = 8192;

struct GateThreads {
  GateThread* threads;  // kMostGateThreads
  std::uint32_t count;
  std::uint32_t signalled;
  std::int32_t pid;
  int signal;
  std::uint64_t sequence;
  ForbiddenCode forbidden;
};

enum class GateLook : std::uint8_t { kAllOutside, kSomeInside, kTooMany, kRealTime, kUnreadable };

// One look at all threads but the calling one; those that can be are asked. `culprit`: a thread
// that is not outside.
GateLook look_at_threads(GateThreads& all, std::int32_t& culprit) noexcept;

// Threads that were asked and have not answered yet.
void ask_again(GateThreads& all) noexcept;

// A word of the stack from `stack` on is in `forbidden`. Bounds: 256 KiB, in pieces of the size of
// `words`, which divides a page: no piece is partly mapped.
bool is_on_stack(std::int32_t pid, std::uint64_t stack, ForbiddenCode forbidden,
                 std::span<std::uint64_t> words) noexcept;

inline std::uint64_t numbered(std::uint64_t sequence, GateAnswer answer) noexcept {
  return sequence << 8 | static_cast<std::uint64_t>(answer);
}
// The value of a signal.
inline std::uint64_t gate_value(std::uint64_t sequence, std::uint32_t thread) noexcept {
  return sequence << 16 | thread;
}

}  // namespace swipr::trace
