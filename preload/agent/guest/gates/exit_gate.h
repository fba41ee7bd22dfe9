// How a thread that ends the process waits until the recordings are finished.
//
//   program's thread: asked := 1 ─► removes the socket files ─► wakes ─► waits until finished
//   control thread:   sees asked ─► finishes its recordings ─► report_finished()
//
// Both sides check the other's flag after setting their own: either the exit waits for the
// recording, or the recording is not started.
#pragma once

#include "preload/agent/base/moment.h"

namespace swipr::agent::exit_gate {

// The thread that ends the process. Does nothing in any process but the owner.
// Context: any thread, signal handlers included. Blocks: at most 200 ms, while recordings end, or
// if the program has left the root directory of the socket files.
void pass() noexcept;

// Context: any thread, signal handlers included.
bool is_asked() noexcept;
bool is_recording() noexcept;

// Control thread:
// Call before a recording starts; false: the process is exiting, start nothing.
bool enter_recording() noexcept;
void update(bool recording) noexcept;
// When to check is_asked() without a wake-up; kNever with a signalfd or no recording.
Moment look_again_at(Moment now) noexcept;
void report_finished() noexcept;  // also removes the socket files, if they are still there

// In the child of a fork, or when the control thread is parked.
void reset() noexcept;

}  // namespace swipr::agent::exit_gate
