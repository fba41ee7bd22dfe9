// The agent's only thread. It is started at load and in every child of a fork, and sleeps while
// there is no client.
#pragma once

#include "preload/agent/guest/gates/follow_gate.h"
#include "preload/agent/guest/settings.h"

namespace swipr::agent {

// `settings` and the arena that it points to are never freed. With a rendezvous it returns once
// that recording has started. Context: the constructor. Blocks: at most 2 s. Errors: none; the
// program continues without swipr, and the log contains the reason.
void start_control_thread(const Settings& settings) noexcept;

// Ends recordings and removes the socket before the process ends. A second call does nothing.
// Context: any thread, signal handlers included.  Blocks: at most 200 ms, only while recording.
void finish_before_exit() noexcept;

// Called before exec, which may fail: sends what is recorded so far, and lets the new image inherit
// the program's dispositions. Recordings continue.
// Context: any thread, signal handlers included.  Blocks: at most 100 ms, only while recording.
void flush_before_exec() noexcept;
// exec has failed.
void resume_after_exec() noexcept;

// Around a system call that the kernel refuses to a process with more than one thread. park: true:
// the control thread and its recordings have ended, and the calling thread is the only one; resume
// starts the control thread again. False: there is no control thread, or the program has other
// threads of its own.
// Blocks: until recordings are drained, at most 2 s.
bool park_control_thread() noexcept;
void resume_control_thread() noexcept;

// Before libc makes all threads change their ids. True: the capabilities of the control thread
// differed from the caller's; it has ended with its recordings, and resume starts it again with
// those of the caller. Context: any thread. Blocks: as park; if the control thread is starting,
// until it has started.
bool park_control_thread_of_other_rights() noexcept;

// After a system call by which a single-threaded program has changed its ids or capabilities
// without libc's knowledge: the control thread makes the same call, so that it has no more
// privileges than the program. In programs with several threads such a call changes the calling
// thread only.
// Context: any thread.  Blocks: as follow_gate::ask.
void follow_change_of_rights(const follow_gate::SystemCall& call) noexcept;

// Before the program installs a seccomp filter: any later system call of this library might
// terminate the program. Applies to this process and its children; images that they exec start
// again. True: the control thread has ended now, and resume starts it again if no filter was
// installed.
// Blocks: as park.
bool end_control_thread() noexcept;

}  // namespace swipr::agent
