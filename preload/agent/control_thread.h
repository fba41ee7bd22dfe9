// The agent's one thread: started at load and in every child of a fork, asleep without clients.
#pragma once

#include "preload/agent/guest/gates/follow_gate.h"
#include "preload/agent/guest/settings.h"

namespace swipr::agent {

// `settings` and the arena behind it outlive the process. With a rendezvous it returns once that
// recording has started. Context: the constructor.  Blocks: at most 2 s.  Errors: none are visible;
// the program runs on without swipr, and the log says why.
void start_control_thread(const Settings& settings) noexcept;

// Ends recordings and removes the socket before the process ends. A second call costs nothing.
// Context: any thread, signal handlers included.  Blocks: at most 200 ms, only while recording.
void finish_before_exit() noexcept;

// Sends what is recorded so far, and lets the new image inherit the program's dispositions: exec is
// about to replace the image, or to fail. Recordings go on.
// Context: any thread, signal handlers included.  Blocks: at most 100 ms, only while recording.
void flush_before_exec() noexcept;
// It has failed.
void resume_after_exec() noexcept;

// Around a system call that the kernel refuses to a process with more than one thread. park: true:
// the control thread has ended, with its recordings, and the program has this thread alone; resume
// starts it again. False: there is none, or the program has other threads of its own.
// Blocks: until recordings are drained, at most 2 s.
bool park_control_thread() noexcept;
void resume_control_thread() noexcept;

// Before libc has all threads change their ids. True: the control thread had other capabilities
// than this one and has ended, with its recordings; resume starts it again, with those of the
// caller. Context: any thread.  Blocks: as park; while the control thread begins, until it has
// begun.
bool park_control_thread_of_other_rights() noexcept;

// After a system call by which the program has changed the ids or capabilities of its one thread,
// without libc's knowledge: the control thread makes it as well, and has no more rights than the
// program. With more threads than one such a call is that thread's alone.
// Context: any thread.  Blocks: as follow_gate::ask.
void follow_change_of_rights(const follow_gate::SystemCall& call) noexcept;

// Before the program confines itself: whatever this library did from then on might end the program.
// For this process and its children; their exec'd images begin anew. True: it has ended now, and
// resume starts it again if nothing came of the confinement.
// Blocks: as park.
bool end_control_thread() noexcept;

}  // namespace swipr::agent
