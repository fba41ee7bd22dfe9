// State of a thread since its last entry in the recording: its open run.
//
//   kind       it means                                        leaves by
//   kNone      the next tick looks at the thread               any of the others
//   kSettled   its stack is known; it holds as long as the     reopen, defer, await_answer,
//              thread's CPU clock stands still                 settle…
//   kDeferred  the tick had no time to look; as long as the    reopen, await_answer, settle…
//              CPU clock stands still a later tick can
//   kAwaiting  signalled: the answer tells the stack           reopen, defer, settle…
//
// settle without a stack leads to kNone, because no stack could stay valid. Pure.
#pragma once

#include <cstdint>

#include "common/wire/format.h"

namespace swipr::agent {

class RunState {
 public:
  enum class Kind : std::uint8_t { kNone, kSettled, kDeferred, kAwaiting };

  Kind kind() const noexcept { return kind_; }
  wire::ThreadState thread_state() const noexcept { return thread_state_; }
  // Of the last observed wait; 0: none.
  std::uint32_t stack() const noexcept { return stack_; }
  std::uint32_t stack_of(std::uint32_t generation) const noexcept {
    return stack_generation_ == generation ? stack_ : 0;
  }
  bool is_of(std::uint32_t generation) const noexcept { return stack_generation_ == generation; }
  bool holds(std::uint32_t generation) const noexcept {
    return kind_ == Kind::kSettled && is_of(generation);
  }
  bool was_settled_at(std::int64_t cpu_ns) const noexcept { return settled_cpu_ns_ == cpu_ns; }
  // CPU time since the thread was signalled. While kAwaiting.
  std::int64_t since_signal(std::int64_t cpu_ns) const noexcept {
    return cpu_ns - signalled_cpu_ns_;
  }

  void reopen() noexcept { kind_ = Kind::kNone; }
  void defer() noexcept {
    kind_ = Kind::kDeferred;
    thread_state_ = wire::ThreadState::kUnknown;
  }
  // Another signal in the same run does not begin a new wait for the answer.
  void await_answer(std::int64_t cpu_ns) noexcept {
    if (kind_ != Kind::kAwaiting) signalled_cpu_ns_ = cpu_ns;
    kind_ = Kind::kAwaiting;
  }
  // Blocked with this stack, taken from outside at this CPU clock of the thread.
  void settle(std::uint32_t stack, std::uint32_t generation, std::int64_t cpu_ns) noexcept {
    keep_stack(stack, generation);
    settle_as(wire::ThreadState::kBlocked, stack_ != 0);
    settled_cpu_ns_ = cpu_ns;
  }
  // Woken, and still in the call of the known stack, if any.
  void settle_waking() noexcept { settle_as(wire::ThreadState::kRunnable, stack_ != 0); }
  // Blocked at a hidden location, with the known stack or none.
  void settle_hidden(std::uint32_t generation, std::int64_t cpu_ns) noexcept {
    keep_stack(stack_, generation);
    settle_as(wire::ThreadState::kBlocked, true);
    settled_cpu_ns_ = cpu_ns;
  }
  void keep_stack(std::uint32_t stack, std::uint32_t generation) noexcept {
    stack_ = stack;
    stack_generation_ = generation;
  }
  void forget_stack() noexcept { stack_ = 0; }
  void set_thread_state(wire::ThreadState state) noexcept { thread_state_ = state; }

 private:
  void settle_as(wire::ThreadState state, bool holds) noexcept {
    thread_state_ = state;
    kind_ = holds ? Kind::kSettled : Kind::kNone;
  }

  Kind kind_ = Kind::kNone;
  wire::ThreadState thread_state_ = wire::ThreadState::kUnknown;
  std::uint32_t stack_ = 0;
  std::uint32_t stack_generation_ = 0;
  std::int64_t signalled_cpu_ns_ = 0;  // the CPU clock when the signal was sent
  std::int64_t settled_cpu_ns_ = -1;   // the CPU clock when `stack_` was taken from outside
};

}  // namespace swipr::agent
