// How a thread of the program ends the control thread for a moment (unshare, setns) or for good.
//
//            ask                 begin               end
//   kNone ─────────► kAsked ───────────► kParking ─────────► kGone
//     ▲                │ too late            │ too late, kStays
//     └────────────────┘                     ▼
//     ▲                                 kCalledBack
//     └──────────────────────────────────────┘ end: it serves on
#pragma once

#include <cstdint>

namespace swipr::agent::park_gate {

// Ends the control thread; true: it is gone, and nothing of it is left, its socket files neither.
// False: there is none; or it has had no time to begin with that, and stays; or it has begun and
// has not come to its end, then it goes on serving (kStays) or ends some time later (kGoes).
// Context: any thread.  Blocks: until recordings are drained, at most 4 s.
enum class WhenLate : std::uint8_t { kStays, kGoes };
bool ask(WhenLate when_late) noexcept;

// Control thread:
// True: it has been asked to end, and must do so; nobody wakes it any more.
bool begin() noexcept;
// Removes the socket files. True: the thread has to end now, and touches nothing of swipr's any
// more. False: it took too long, the program goes on without, and it serves anew:
// socket_files::begin().
bool end() noexcept;

// In the child of a fork, or when the control thread is parked.
void reset() noexcept;

}  // namespace swipr::agent::park_gate
