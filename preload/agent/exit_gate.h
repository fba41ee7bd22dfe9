// How a thread that ends the process has the control thread finish its recordings first, and one
// that is about to exec has it send what there is.
//
// The control thread's descriptor table is its own, so no other thread can write to anything that
// it polls. While recordings run it polls a signalfd for a signal that it blocks; the exiting
// thread sends it that signal. The signalfd is not read to find out who sent it: a signal that
// the program itself has pending for all its threads would be taken away from it. If that is what
// made it readable, another signal is used. Behind a flush it is read once: the kernel hands out a
// thread's own signals first, and that one has been sent by then. Without recordings there is no
// signalfd (it would wake at each of the program's signals) and nothing to wait for.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "preload/agent/recorder.h"

namespace swipr::agent::exit_gate {

// The thread that waits here now, 0: none. Where it stands is swipr's doing, so it is not looked
// at.
inline std::atomic<std::int32_t> waiting_tid{0};

// Before the control thread starts.
void set_owner(pid_t pid) noexcept;

// Control thread:
void set_control_thread(pid_t tid) noexcept;
// Around the creation of socket files: an exit meanwhile waits, so that none is left behind.
// False: the process is exiting, create nothing.
bool begin_places() noexcept;
void end_places() noexcept;
// A file to remove at exit; up to two. Between the two above.
void add_socket_file(std::string_view path) noexcept;
// Called before a recording starts; false: the process is exiting, start nothing.
bool enter_recording() noexcept;
void update(bool recording) noexcept;  // opens and closes the signalfd
int poll_fd() noexcept;                // −1: none
void on_readable() noexcept;
bool is_exit_asked() noexcept;
bool is_flush_asked() noexcept;
void report_flushed() noexcept;
// When to look at is_exit_asked() although nothing woke; kNever with a signalfd or no recording.
Moment look_again_at(Moment now) noexcept;
void report_finished() noexcept;

// The thread that ends the process. Does nothing in any process but the owner (vfork children).
// Context: any thread, signal handlers included.  Blocks: at most 200 ms, while recordings end.
void pass() noexcept;

// Before exec: returns when what is recorded so far is sent. Several threads at once: the first one
// is waited for. Does nothing in any process but the owner.
// Context: any thread, signal handlers included.  Blocks: at most 100 ms, while recordings run.
void ask_for_flush() noexcept;

// In the child of a fork.
void reset_after_fork() noexcept;

}  // namespace swipr::agent::exit_gate
