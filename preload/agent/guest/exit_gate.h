// How the program's threads ask the control thread for something: to finish its recordings (exit),
// to send what there is (exec), to go away for a moment (unshare and setns), to change its rights
// as the program does.
//
// The control thread's descriptor table is its own, so no other thread can write to anything that
// it polls. It polls a signalfd for one of libc's own signals, which the asking thread sends to it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "preload/agent/base/moment.h"

namespace swipr::agent::exit_gate {

// Before the control thread starts.
void set_owner(pid_t pid) noexcept;

// Control thread:
// It does not come to be.
void set_absent() noexcept;
// From here on it can be woken. Where the kernel refuses that, exits are noticed late
// (look_again_at) and nobody parks it.
void open() noexcept;
// Around the creation of socket files: an exit meanwhile waits, so that none is left behind.
// False: the process is exiting, create nothing.
bool begin_places() noexcept;
void end_places() noexcept;
// The same once more, for files that are gone; afterwards end_places() as well. No file counts as
// added any more.
bool begin_places_again() noexcept;
// A file to remove at exit; up to two. Between the two above.
void add_socket_file(std::string_view path) noexcept;
// Called before a recording starts; false: the process is exiting, start nothing.
bool enter_recording() noexcept;
void update(bool recording) noexcept;
int poll_fd() noexcept;  // −1: none
// True: another process asks to be listened to (its `swipr record` finds no socket file).
bool on_readable() noexcept;
// True, once: an exec has failed, and the files that were removed for it are wanted again.
bool take_wish_for_places() noexcept;
bool is_exit_asked() noexcept;
bool is_flush_asked() noexcept;
void report_flushed() noexcept;
// When to look at is_exit_asked() although nothing woke; kNever with a signalfd or no recording.
Moment look_again_at(Moment now) noexcept;
void report_finished() noexcept;  // also removes the socket files, if they are still there
// True: it has been asked to end, and must do so; nobody wakes it any more.
bool begin_parking() noexcept;
// Removes the socket files. True: the thread has to end now, and touches nothing of swipr's any
// more. False: it took too long, the program goes on without, and it serves anew: begin_places().
bool end_parking() noexcept;

// The thread that ends the process. Does nothing in any process but the owner (vfork children).
// Context: any thread, signal handlers included.  Blocks: at most 200 ms, while recordings end or
// where the program has left the root directory of the socket files.
void pass() noexcept;

// Before exec: returns when what is recorded so far is sent. Several threads at once: the first one
// is waited for. Does nothing in any process but the owner.
// Context: any thread, signal handlers included.  Blocks: at most 100 ms, while recordings run.
void ask_for_flush() noexcept;

// Around exec: no socket file stays behind that the next image does not make anew; when exec fails
// they come back. Does nothing in any process but the owner.
// Context: any thread, signal handlers included.  Blocks: at most 5 ms, while they are being made.
void leave_places() noexcept;
void return_to_places() noexcept;

// Ends the control thread; true: it is gone, and nothing of it is left, its socket files neither.
// False: there is none; or it has had no time to begin with that, and stays; or it has begun and
// has not come to its end, then it goes on serving (kStays) or ends some time later (kGoes).
// Context: any thread.  Blocks: until recordings are drained, at most 4 s.
enum class WhenLate : std::uint8_t { kStays, kGoes };
bool ask_to_park(WhenLate when_late) noexcept;

// The control thread once it can be woken; 0: there is none, or not in this process.
// Context: any thread.  Blocks: while it begins, at most 2 s.
pid_t control_tid() noexcept;

// Makes the control thread make this system call as well, once, whatever comes of it there.
// Context: any thread.  Blocks: until it is made, at most 2 s; after that it is not made any more.
struct SystemCall {
  long number;
  long arguments[3];
};
void ask_to_follow(const SystemCall& call) noexcept;
// Control thread: what is asked of it in this way.
void follow() noexcept;

// In the child of a fork, or when the control thread is parked.
void reset_after_fork() noexcept;

}  // namespace swipr::agent::exit_gate
