// The socket files of the process: none remains after an exit, and the next image after exec finds
// none that this image made.
//
//           begin            end          leave
//   kNone ─────────► kMaking ─────► kMade ───────► kLeft
//                       ▲             │              │
//                       └─────────────┘              └──► kNone (return_after_exec)
//                         begin_again
//   kNone ── leave ──► kLeft        kNone ── remove_for_good ──► kCancelled
#pragma once

#include <string_view>

namespace swipr::agent::socket_files {

// Control thread, around creating the files: an exit waits meanwhile, so that none remains. False:
// the process ends or execs; create nothing.
bool begin() noexcept;
void end() noexcept;
// The same again, for files that were removed; then end() as well. The list of added files is empty
// afterwards.
bool begin_again() noexcept;
// A file to remove at exit; up to two. Between begin and end.
void add(std::string_view path) noexcept;
// Waits for the first files of this process if there is a control thread to create them: the next
// call may drop the permission to write to their folder.
// Context: any thread, signal handlers included.  Blocks: at most 2 s, while files are being made.
void await() noexcept;

// True, once: an exec has failed, and the files that were removed for it must be created again.
bool take_wish() noexcept;

// Removes the files; none will be created any more. False: a file cannot be reached from here
// (after chroot), or may still be created.
// Context: any thread, signal handlers included.  Blocks: while files are being made, at most
// 50 ms.
bool remove_for_good() noexcept;
// Removes the files by name. False: one of them cannot be reached from here.
bool unlink_all() noexcept;

// Around exec. leave removes the files; if exec fails, return_after_exec makes the control thread
// create them again. Both do nothing in other processes than the owner.
// Context: any thread, signal handlers included.  Blocks: at most 5 ms, while files
// are being made.
void leave() noexcept;
void return_after_exec() noexcept;

// Sets the state without files: the control thread creates its own when it serves again.
void forget() noexcept;
// In the child of a fork, or when the control thread is parked.
void reset() noexcept;

}  // namespace swipr::agent::socket_files
