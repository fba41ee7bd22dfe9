// How a thread that calls exec has everything recorded so far written first.
//
//           ask                    report_done, or the asker's time is over
//   kNone ──────► kAsked ────────────────────────────────────────────────────► kNone
#pragma once

namespace swipr::agent::flush_gate {

// Returns when what is recorded so far is sent. Several threads at once: the first one is waited
// for. Does nothing in any process but the owner.
// Context: any thread, signal handlers included.  Blocks: at most 100 ms, while recordings run.
void ask() noexcept;

// Control thread:
bool is_asked() noexcept;
void report_done() noexcept;

// In the child of a fork, or when the control thread is parked.
void reset() noexcept;

}  // namespace swipr::agent::flush_gate
