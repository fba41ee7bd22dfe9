// The agent's one thread: started at load and in every child of a fork, asleep without clients.
#pragma once

#include "preload/agent/settings.h"

namespace swipr::agent {

// `settings` and the arena behind it outlive the process. With a rendezvous it returns once that
// recording has started. Context: the constructor.  Blocks: at most 2 s.  Errors: none are visible;
// the program runs on without swipr, and the log says why.
void start_control_thread(const Settings& settings) noexcept;

// Ends recordings and removes the socket before the process ends. A second call costs nothing.
// Context: any thread, signal handlers included.  Blocks: at most 200 ms, only while recording.
void finish_before_exit() noexcept;

// Sends what is recorded so far: exec is about to replace the image, or to fail. Recordings go on.
// Context: any thread, signal handlers included.  Blocks: at most 100 ms, only while recording.
void flush_before_exec() noexcept;

}  // namespace swipr::agent
