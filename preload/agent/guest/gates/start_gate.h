// How the constructor waits for the recording that a rendezvous starts, so that the first
// instruction of main is recorded.
#pragma once

namespace swipr::agent::start_gate {

// The starting thread, before the control thread exists, and then after.
void close() noexcept;
// The starting thread will wait: its time from now on is swipr's.
void enter() noexcept;
// Blocks: at most 2 s, until open().
void wait() noexcept;

// The control thread: a recording has started, or none will.
void open() noexcept;

}  // namespace swipr::agent::start_gate
