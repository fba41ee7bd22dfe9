// How a thread that calls exec waits until everything recorded so far is written.
//
//           ask                    report_done, or the asker's time is over
//   kNone ──────► kAsked ────────────────────────────────────────────────────► kNone
#pragma once

namespace swipr::agent::flush_gate {

// Returns when the data recorded so far is sent. If several threads call it, all wait for the first
// request. Does nothing in other processes than the owner.
// Context: any thread, signal handlers included.  Blocks: at most 100 ms, while recordings run.
void ask() noexcept;

// Control thread:
bool is_asked() noexcept;
void report_done() noexcept;

// In the child of a fork, or when the control thread is parked.
void reset() noexcept;

}  // namespace swipr::agent::flush_gate
