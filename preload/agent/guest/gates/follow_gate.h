// How a thread of the program makes the control thread change its privileges as it does itself.
//
//           ask                publish            begin                 end
//   kNone ──────► kPreparing ─────────► kAsked ─────────► kFollowing ───────► kNone
//     ▲                                   │ too late
//     └───────────────────────────────────┘
#pragma once

namespace swipr::agent::follow_gate {

struct SystemCall {
  long number;
  long arguments[3];
};

// Makes the control thread execute this system call as well, once, and ignores its result.
// Context: any thread. Blocks: until it is executed, at most 2 s; after that it is not executed any
// more.
void ask(const SystemCall& call) noexcept;

// Control thread: executes the requested call, if any.
void follow() noexcept;

// In the child of a fork, or when the control thread is parked.
void reset() noexcept;

}  // namespace swipr::agent::follow_gate
