// The labels of each thread of the program. A thread that sets its first label gets a place in a
// table of the process, and a thread-local variable points to it. Threads without labels have the
// variable only.
//
// A label is written into a slot that is not in use, and one store of the mask of slots in use
// publishes it and withdraws the one that it replaces. So a handler that interrupts the thread
// always finds whole labels. Other threads read them only while the thread sleeps.
//
// Places are not given back when a thread ends, because nothing of swipr's is called then: a thread
// that needs one looks for an owner that does not exist any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "common/core/ids.h"
#include "common/core/signal_safe.h"
#include "preload/labels/label.h"

namespace swipr::labels {

inline constexpr std::uint32_t kMostThreads = 16384;  // that have labels at a time

// --- the program's side. Allocates: a mapping, once per process.  Errno: kept.  Bounds: system
// calls only for a thread's first label, 12 at most.

// False: there is no room, or the key is empty or longer than kMostKeyBytes; it is counted. A value
// is cut where the room ends. An empty value removes the label.
SWIPR_SIGNAL_SAFE bool set_label(std::string_view key, std::string_view value) noexcept;
// As set_label, and keeps the present label of that key in `scope` (with an empty value: none).
SWIPR_SIGNAL_SAFE bool begin_scope(Label& scope, std::string_view key,
                                   std::string_view value) noexcept;
// Sets the label that was kept.
SWIPR_SIGNAL_SAFE void end_scope(const Label& scope) noexcept;

// --- the handler's side: the labels of the calling thread.
SWIPR_SIGNAL_SAFE void copy_own_labels(LabelSet& out) noexcept;

// --- the control thread's side

// Some thread has had a label.
bool are_in_use() noexcept;
// Place of the thread, and what proves that it is not of an ended thread with the same tid: the
// word at `pointer` holds `value` as long as the owner lives, and its own tid is near
// `thread_pointer`.
struct LabelPlace {
  std::uint32_t number = kMostThreads;  // kMostThreads: it has none
  std::uint64_t pointer = 0;
  std::uint64_t value = 0;
  std::uint64_t thread_pointer = 0;
};
// `hint`: the number that was found for the thread before.
LabelPlace find_place(Tid tid, std::uint32_t hint) noexcept;
// The thread sleeps, or the result is not used.
void copy_labels(std::uint32_t number, LabelSet& out) noexcept;
// Labels that could not be set, and values that were cut, since the process began.
std::uint64_t lost_count() noexcept;
std::uint64_t cut_count() noexcept;

// The process in which threads may get places; 0: none may any more, because system calls could
// kill it (seccomp). In the child of a fork: the labels of other threads are forgotten.
// Context: a thread of the program; in the child of a fork, the only one.
void set_owner(std::int32_t process) noexcept;

}  // namespace swipr::labels
