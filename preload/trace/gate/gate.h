// Changes code that other threads may be executing.
//
//   EB FE at the patch, a jump to itself: who comes by stays there, in no system call, with no
//   signal. Then each thread is shown to be outside of the bytes that will change, or is moved out
//   of them; then the rest of the patch is written, and its first two bytes at last.
//
// Between the first and the last byte the control thread calls nothing in libc and makes system
// calls itself: it would wait at its own gate, if that is in what it calls. The object imports
// nothing (tests/gates/trace_imports_test.py).
//
// The control thread blocks all signals: a handler that it ran could meet the gate.
//
// A thread is outside if it waits in a system call (none begins in these bytes), and no handler of
// the program on its stack will return into them; others get a signal and answer.
#pragma once

#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/trace/plan/plan.h"

namespace swipr::trace {

enum class GateStatus : std::uint8_t {
  kDone,
  kUnsupported,  // no membarrier for code, or memory of the own process cannot be read by a call
  kNotWritable,  // mprotect is refused
  kForking,
  kTooManyThreads,
  kRealTime,    // a thread with such a policy could wait at the gate and keep the CPU
  kNotReached,  // undone: a thread did not answer within a second
  kGone,        // other bytes are there: the module was unmapped, or its code was changed
};

struct GateReport {
  GateStatus status = GateStatus::kDone;
  std::int32_t thread = 0;  // of kRealTime, kNotReached
  std::uint32_t threads = 0;
  std::uint32_t signalled = 0;
  std::uint32_t moved = 0;
  std::uint64_t duration_ns = 0;
};

// Once, before the others. `signal`: its handler passes what has `kGateSignalCode` to
// answer_gate().
GateStatus prepare_gate(int signal) noexcept;

// Where a function is changed, and into what.
struct Patch {
  const Plan* plan;  // stays where it is for ever: a late handler may look at it
  std::uint64_t copy;
  std::uint64_t stub;
  const std::uint8_t* original;  // kJumpBytes
};
// The function's code is readable and executable, and is so again afterwards.
GateReport open_patch(const Patch& patch) noexcept;
// Puts the bytes of the file back. No thread has to answer: none can be inside of a jump.
GateReport close_patch(const Patch& patch) noexcept;

inline constexpr int kGateSignalCode = -0x5358;
// In the handler: changes `pc` of the interrupted code, if it is inside of the patch.
// Bounds: 256 KiB of the stack are read, by system calls.
SWIPR_SIGNAL_SAFE void answer_gate(std::uint64_t value, std::uint64_t& pc,
                                   std::uint64_t stack) noexcept;

// A child would inherit the gate and nobody to open it: fork waits meanwhile, in a system call, and
// no gate is closed while a fork is under way. Of pthread_atfork. dlclose is the same: it would
// unmap code that is being changed.
void before_fork() noexcept;
void after_fork_in_parent() noexcept;
void after_fork_in_child() noexcept;

}  // namespace swipr::trace
