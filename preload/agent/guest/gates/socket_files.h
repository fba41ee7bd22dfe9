// The socket files of the process: none stays behind an exit, and none is there for the next image
// after exec that this image made.
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

// Control thread, around the making of the files: an exit meanwhile waits, so that none is left
// behind. False: the process ends or execs, make nothing.
bool begin() noexcept;
void end() noexcept;
// The same once more, for files that are gone; then end() as well. No file counts as added any
// more.
bool begin_again() noexcept;
// A file to remove at exit; up to two. Between begin and end.
void add(std::string_view path) noexcept;
// Waits for the first files of this process, where a control thread is there to make them: the
// rights to their folder may go with the next call.
// Context: any thread, signal handlers included.  Blocks: at most 2 s, while files are being made.
void await() noexcept;

// True, once: an exec has failed, and the files that were removed for it are wanted again.
bool take_wish() noexcept;

// Removes what is there, and nothing will be made any more. False: a file is not to be found from
// here (after chroot), or may still be made.
// Context: any thread, signal handlers included.  Blocks: while files are being made, at most
// 50 ms.
bool remove_for_good() noexcept;
// Removes the files by name. False: one of them is not to be found from here.
bool unlink_all() noexcept;

// Around exec. leave: no file stays behind; when exec fails return_after_exec makes the control
// thread make them anew.
// Do nothing in any process but the owner.
// Context: any thread, signal handlers included.  Blocks: at most 5 ms, while files
// are being made.
void leave() noexcept;
void return_after_exec() noexcept;

// No files: the control thread makes its own when it serves again.
void forget() noexcept;
// In the child of a fork, or when the control thread is parked.
void reset() noexcept;

}  // namespace swipr::agent::socket_files
