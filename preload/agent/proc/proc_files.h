// Reads and parses the files of /proc that capture needs. Files are opened, read and closed;
// task_files.h keeps some open.
// Context: control thread.  Allocates: never.  Errors: an empty or unreadable file is an empty
// text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/core/ids.h"

namespace swipr::agent {

// `directory` as for openat, or −1 with an absolute path. The text is in `buffer`; what does not
// fit is cut off.
std::string_view read_file_at(int directory, const char* path, std::span<char> buffer) noexcept;
// The file `name` of a thread: `task_directory` is /proc/self/task.
std::string_view read_task_file(int task_directory, Tid tid, std::string_view name,
                                std::span<char> buffer) noexcept;

// −1: it cannot be opened.
int open_task_file(int task_directory, Tid tid, std::string_view name) noexcept;

// /proc/PID/task/TID/syscall.  Source: kernel, fs/proc/base.c, proc_pid_syscall.
enum class WaitKind : std::uint8_t {
  kUnknown,  // unreadable or not understood
  kRunning,  // on a processor or in a run queue
  kBlocked,
};
struct WaitPlace {
  WaitKind kind = WaitKind::kUnknown;
  std::int64_t system_call = -1;  // -1: blocked outside of a system call, in a page fault say
  std::uint64_t sp = 0;
  std::uint64_t pc = 0;
  // A handler with SA_RESTART may interrupt the call: the kernel restarts it without effect on the
  // caller. True only for calls that neither timeouts nor socket options can make return early.
  bool restarts = false;
  // It has a timeout, which begins again if the call is repeated. False also for sockets with a
  // timeout, and for calls whose timeouts the kernel updates. Not part of the place.
  bool timeout_begins_again = false;
  // FUTEX_WAIT or FUTEX_WAIT_BITSET, which wait in the same function of the kernel. Not part of the
  // place.
  bool is_futex_wait = false;
  std::uint64_t first_argument = 0;  // often the object that is waited for; not part of the place
  // Where the tid of the lock's holder is, if this is a wait for a mutex of the C library, or for
  // the writer of a read-write lock; 0: it is not. Other uses of futexes can look the same. Not
  // part of the place.
  std::uint64_t holder_address = 0;
  static constexpr std::uint64_t kMutexOwner = 8;     // in the mutex
  static constexpr std::uint64_t kRwlockWriter = 24;  // in the read-write lock
  // With a holder_address.
  bool is_rwlock() const noexcept { return holder_address - first_argument > kMutexOwner; }
  std::uint64_t lock_address() const noexcept {
    return is_rwlock() ? holder_address - kRwlockWriter : first_argument;
  }
  friend bool operator==(const WaitPlace& left, const WaitPlace& right) noexcept {
    return left.kind == right.kind && left.system_call == right.system_call &&
           left.sp == right.sp && left.pc == right.pc && left.restarts == right.restarts;
  }
};
WaitPlace parse_wait_place(std::string_view text) noexcept;

// /proc/PID/task/TID/stat shows that the thread neither runs nor is runnable: a state other than R
// after the name in parentheses, which may itself contain parentheses. False also for other text.
// Source: kernel, fs/proc/array.c, task_state_array.
bool is_asleep_by_stat(std::string_view text) noexcept;
// The same shows that the thread runs, or is runnable, on this CPU (field 39).
bool is_runnable_on(std::string_view text, int cpu) noexcept;

// /proc/PID/task/TID/stat: the blocked signals of 1 to 31; 0 also for other text.
// Source: kernel, fs/proc/array.c, do_task_stat, the 32nd field.
std::uint64_t parse_blocked_signals(std::string_view text) noexcept;
// … and those that are pending for this thread (not for the process), except real-time signals.
std::uint64_t parse_pending_signals(std::string_view text) noexcept;

// /proc/PID/task/TID/status: voluntary context switches of the thread; nullopt: other text.
// Source: kernel, fs/proc/array.c, task_context_switch_counts.
std::optional<std::uint64_t> parse_voluntary_switches(std::string_view text) noexcept;

// /proc/PID/task/TID/schedstat: "cpu-ns run-queue-ns timeslices".
struct SchedulerTimes {
  bool known = false;
  std::uint64_t runqueue_ns = 0;
  std::uint64_t slices = 0;  // number of times that it got a CPU
};
SchedulerTimes parse_scheduler_times(std::string_view text) noexcept;

// /proc/PID/status: number of pending signals in all processes of its user, and their limit; 0 and
// 0 for other text. Source: kernel, fs/proc/array.c, task_sig ("SigQ:\tUSED/LIMIT").
struct SignalQueue {
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
};
SignalQueue parse_signal_queue(std::string_view text) noexcept;

// /proc/PID/uid_map of a process in the first user namespace: user ids are the same for every
// reader. False also for other text. Source: user_namespaces(7).
bool maps_every_user_to_itself(std::string_view text) noexcept;

// One line of /proc/PID/maps, without its line break.
struct MapsLine {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool readable = false;
  bool executable = false;
  std::uint64_t offset = 0;
  std::uint64_t device = 0;  // major << 32 | minor
  std::uint64_t inode = 0;
  std::string_view path;  // empty: anonymous
};
// False: other text.
bool parse_maps_line(std::string_view line, MapsLine& out) noexcept;

}  // namespace swipr::agent
