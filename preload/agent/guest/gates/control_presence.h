// Whether the control thread exists, and how the program's threads wake it.
//
// The control thread's descriptor table is its own, so no other thread can write to anything that
// it polls. It polls a signalfd for one of libc's own signals, which the waking thread sends to it.
//
//            set_owner            open
//   kNone ─────────────► kStarting ────► kAwake
//     ▲                      │ set_absent, or the kernel refuses the signalfd
//     │ reset                ▼
//     └────────────────── kAbsent
#pragma once

#include <sys/types.h>

namespace swipr::agent::control_presence {

// The starting thread, before the control thread exists.
void set_owner(pid_t pid) noexcept;

// True in the process that the control thread belongs to; false in children of vfork, which share
// its memory.
// Context: any thread, signal handlers included.
bool is_owner() noexcept;

// Sends the wake signal if there is a control thread.
// Context: any thread, signal handlers included.
void wake() noexcept;

// True: a control thread can be woken.
// Context: any thread, signal handlers included.
bool is_awake() noexcept;

// The tid of the control thread once it can be woken; 0: there is none, or not in this process.
// Context: any thread.  Blocks: while it starts, at most 2 s.
pid_t control_tid() noexcept;

// Control thread: the control thread could not be started.
void set_absent() noexcept;
// From now on it can be woken. If the kernel refuses the signalfd it stays absent: exits are
// detected late (exit_gate::look_again_at), and it cannot be parked.
void open() noexcept;
int poll_fd() noexcept;  // −1: none
// True: the signal came from another process (its `swipr record` finds no socket file).
bool on_readable() noexcept;
// No thread wakes it any more when this returns: its thread number may be reused.
void withdraw() noexcept;
// After withdraw(): it stays, and can be woken again.
void return_again() noexcept;

// In the child of a fork, or when the control thread is parked.
void reset() noexcept;

}  // namespace swipr::agent::control_presence
