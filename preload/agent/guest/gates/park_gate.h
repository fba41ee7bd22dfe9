// How a thread of the program ends the control thread, temporarily (unshare, setns) or permanently.
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

// Ends the control thread; true: it has ended, and its socket files are removed. False: there is
// none; or it has not responded in time, and stays; or it has begun to end but not finished, then
// it continues to serve (kStays) or ends later (kGoes).
// Context: any thread.  Blocks: until recordings are drained, at most 4 s.
enum class WhenLate : std::uint8_t { kStays, kGoes };
bool ask(WhenLate when_late) noexcept;

// Control thread: true: it has been asked to end, and must do so; no thread wakes it any more.
bool begin() noexcept;
// Removes the socket files. True: the thread has to end now and must not use swipr's data any more.
// False: it took too long, the program has continued, and the control thread serves again:
// socket_files::begin().
bool end() noexcept;

// In the child of a fork, or when the control thread is parked.
void reset() noexcept;

}  // namespace swipr::agent::park_gate
