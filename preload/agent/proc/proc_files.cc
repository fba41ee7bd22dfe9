#include "preload/agent/proc/proc_files.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "preload/agent/base/text/text_view.h"
#include "preload/agent/proc/proc_directory.h"
#include "preload/machine/older_calls.h"

namespace swipr::agent {

namespace {

// Parses numbers and words from the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : rest_(text) {}

  bool ok() const noexcept { return ok_; }
  std::string_view rest() const noexcept { return rest_; }

  bool accept(char wanted) noexcept {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) noexcept {
    if (!accept(wanted)) ok_ = false;
  }
  char take() noexcept {
    if (rest_.empty()) {
      ok_ = false;
      return '\0';
    }
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return first;
  }
  void skip_blanks() noexcept {
    while (accept(' ')) {
    }
  }
  std::uint64_t take_decimal() noexcept { return take_number(10); }
  // With or without 0x.
  std::uint64_t take_hex() noexcept {
    if (leading(rest_, 2) == "0x") rest_.remove_prefix(2);
    return take_number(16);
  }

 private:
  static int digit_value(char digit) noexcept {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return 16;
  }
  std::uint64_t take_number(int base) noexcept {
    std::uint64_t value = 0;
    std::size_t digits = 0;
    while (digits < rest_.size() && digit_value(rest_[digits]) < base) {
      value =
          value * static_cast<unsigned>(base) + static_cast<unsigned>(digit_value(rest_[digits]));
      ++digits;
    }
    if (digits == 0) ok_ = false;
    rest_.remove_prefix(digits);
    return value;
  }

  std::string_view rest_;
  bool ok_ = true;
};

bool is_futex_wait(std::int64_t system_call,
                   const std::array<std::uint64_t, 6>& arguments) noexcept {
  const std::uint64_t operation = arguments[1] & static_cast<unsigned>(FUTEX_CMD_MASK);
  return system_call == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET);
}

// signal(7), "Interruption of system calls and library functions by signal handlers"
bool restarts_unnoticed(std::int64_t system_call,
                        const std::array<std::uint64_t, 6>& arguments) noexcept {
  switch (system_call) {
    case SYS_futex:
      return is_futex_wait(system_call, arguments) && arguments[3] == 0;  // no time-out
    case SYS_wait4:
    case SYS_waitid:
    case SYS_flock:
      return true;
    default:
      return false;
  }
}

// poll(2), epoll_wait(2): milliseconds, negative ones without end.
bool timeout_begins_again(std::int64_t system_call,
                          const std::array<std::uint64_t, 6>& arguments) noexcept {
  switch (system_call) {
    case machine::kPoll:
      return static_cast<std::int32_t>(arguments[2]) > 0;
    case machine::kEpollWait:
    case SYS_epoll_pwait:
      return static_cast<std::int32_t>(arguments[3]) > 0;
    default:
      return false;
  }
}

// Threads wait for a robust mutex as if processes shared it. musl's shared mutexes look the same,
// but have no owner: while one is held, its word is EBUSY.
// Source: kernel, Documentation/locking/robust-futex-ABI.rst; glibc, nptl/pthreadP.h.
bool is_word_of_robust_mutex(std::uint64_t operation, std::uint32_t word) noexcept {
  constexpr std::uint32_t kHeldInMusl = EBUSY;
  const std::uint32_t owner = word & FUTEX_TID_MASK;
  return (operation & FUTEX_PRIVATE_FLAG) == 0 && (word & FUTEX_WAITERS) != 0 && owner != 0 &&
         owner != kHeldInMusl;
}

// A thread waits for a mutex of glibc while its first word is 2; the owner is the third word. The
// first word of one with priority inheritance, or of a robust one, is the owner.
// In a read-write lock, __wrphase_futex and __writers_futex are 3 while a thread waits for a
// writer, the first of them in a multiple of 8 bytes. __cur_writer is behind them; 0: no writer has
// the lock. In glibc before 2.25, __writer is there, but only a wait with a time-out looks like
// this. Source: sysdeps/nptl/lowlevellock.h, bits/struct_mutex.h, bits/struct_rwlock.h,
// nptl/pthread_rwlock_common.c; futex(2).
std::uint64_t find_holder_address(std::int64_t system_call,
                                  const std::array<std::uint64_t, 6>& arguments) noexcept {
  constexpr std::uint32_t kLockedWithWaiters = 2;
  constexpr std::uint32_t kWaitsForWriter = 3;
  constexpr std::uint64_t kOwner = WaitPlace::kMutexOwner;
  constexpr std::uint64_t kWriter = WaitPlace::kRwlockWriter - 8;  // from __wrphase_futex
  constexpr std::uint64_t kLockPi2 = 13;                           // FUTEX_LOCK_PI2, Linux 5.14
  if (system_call != SYS_futex) return 0;
  const std::uint64_t futex = arguments[0];
  const std::uint64_t operation =
      arguments[1] & ~std::uint64_t{FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME};
  const auto expected = static_cast<std::uint32_t>(arguments[2]);
  switch (operation) {
    case FUTEX_LOCK_PI:
    case kLockPi2:
      return futex;
    case FUTEX_WAIT_BITSET:  // a mutex: with a time-out
      if (expected == kWaitsForWriter) return (futex & ~std::uint64_t{7}) + kWriter;
      [[fallthrough]];
    case FUTEX_WAIT:
      if (is_word_of_robust_mutex(arguments[1], expected)) return futex;
      return expected == kLockedWithWaiters ? futex + kOwner : 0;
    default:
      return 0;
  }
}

// The field of that number in `stat`, as in proc(5).
std::uint64_t parse_stat_number(std::string_view text, int wanted) noexcept {
  constexpr int kFirstField = 3;  // the state, behind the name
  const std::size_t end = text.rfind(')');
  if (end == std::string_view::npos) return 0;
  text.remove_prefix(end + 1);
  for (int field = kFirstField; field <= wanted; ++field) {
    const std::size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return 0;
    text.remove_prefix(blank + 1);
  }
  Scanner in(text);
  const std::uint64_t number = in.take_decimal();
  return in.ok() ? number : 0;
}

std::string_view read_and_close(int file, std::span<char> buffer) noexcept {
  if (file < 0) return {};
  std::size_t size = 0;
  while (size < buffer.size()) {
    const ssize_t count = ::read(file, buffer.data() + size, buffer.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
    // The first read returns the whole of a thread's small files; a second one would double the
    // cost.
    if (size < buffer.size() && buffer.size() <= 512) break;
  }
  ::close(file);
  return {buffer.data(), size};
}

}  // namespace

std::string_view read_file_at(int directory, const char* path, std::span<char> buffer) noexcept {
  return read_and_close(directory < 0 ? open_below_proc(path, O_RDONLY)
                                      : ::openat(directory, path, O_RDONLY | O_CLOEXEC),
                        buffer);
}

int open_task_file(int task_directory, Tid tid, std::string_view name) noexcept {
  char path[40];
  char digits[12];
  std::size_t digit_count = 0;
  for (auto rest = static_cast<std::uint32_t>(tid.value); digit_count == 0 || rest != 0;
       rest /= 10) {
    digits[digit_count++] = static_cast<char>('0' + rest % 10);
  }
  std::size_t length = 0;
  while (digit_count != 0) path[length++] = digits[--digit_count];
  path[length++] = '/';
  if (name.size() > sizeof(path) - length - 1) return -1;
  std::memcpy(path + length, name.data(), name.size());
  path[length + name.size()] = '\0';
  return ::openat(task_directory, path, O_RDONLY | O_CLOEXEC);
}

std::string_view read_task_file(int task_directory, Tid tid, std::string_view name,
                                std::span<char> buffer) noexcept {
  return read_and_close(open_task_file(task_directory, tid, name), buffer);
}

WaitPlace parse_wait_place(std::string_view text) noexcept {
  if (leading(text, 7) == "running") return {.kind = WaitKind::kRunning};
  Scanner in(text);
  WaitPlace place;
  if (in.accept('-')) {
    if (in.take_decimal() != 1) return {};
  } else {
    place.system_call = static_cast<std::int64_t>(in.take_decimal());
    std::array<std::uint64_t, 6> arguments{};
    for (std::uint64_t& argument : arguments) {
      in.expect(' ');
      argument = in.take_hex();
    }
    place.restarts = restarts_unnoticed(place.system_call, arguments);
    place.timeout_begins_again = timeout_begins_again(place.system_call, arguments);
    place.is_futex_wait = is_futex_wait(place.system_call, arguments);
    place.first_argument = arguments[0];
    place.holder_address = find_holder_address(place.system_call, arguments);
  }
  in.expect(' ');
  place.sp = in.take_hex();
  in.expect(' ');
  place.pc = in.take_hex();
  if (!in.ok() || place.sp == 0) return {};
  place.kind = WaitKind::kBlocked;
  return place;
}

bool is_asleep_by_stat(std::string_view text) noexcept {
  const std::size_t end = text.rfind(')');
  if (end == std::string_view::npos || text.size() - end < 3) return false;
  const char state = text[end + 2];
  return state >= 'A' && state <= 'Z' && state != 'R';
}

bool is_runnable_on(std::string_view text, int cpu) noexcept {
  const std::size_t end = text.rfind(')');
  return end != std::string_view::npos && text.size() - end >= 3 && text[end + 2] == 'R' &&
         cpu >= 0 && parse_stat_number(text, 39) == static_cast<std::uint64_t>(cpu);
}

std::uint64_t parse_blocked_signals(std::string_view text) noexcept {
  return parse_stat_number(text, 32);
}

std::uint64_t parse_pending_signals(std::string_view text) noexcept {
  return parse_stat_number(text, 31);
}

std::optional<std::uint64_t> parse_voluntary_switches(std::string_view text) noexcept {
  constexpr std::string_view kField = "\nvoluntary_ctxt_switches:\t";
  const std::size_t field = text.find(kField);
  if (field == std::string_view::npos) return std::nullopt;
  text.remove_prefix(field + kField.size());
  Scanner in(text);
  const std::uint64_t count = in.take_decimal();
  return in.ok() ? std::optional(count) : std::nullopt;
}

SchedulerTimes parse_scheduler_times(std::string_view text) noexcept {
  Scanner in(text);
  in.take_decimal();
  in.expect(' ');
  const std::uint64_t runqueue_ns = in.take_decimal();
  in.expect(' ');
  return {in.ok(), runqueue_ns, in.take_decimal()};
}

SignalQueue parse_signal_queue(std::string_view text) noexcept {
  constexpr std::string_view kField = "\nSigQ:\t";
  const std::size_t field = text.find(kField);
  if (field == std::string_view::npos) return {};
  text.remove_prefix(field + kField.size());
  Scanner in(text);
  SignalQueue queue;
  queue.used = in.take_decimal();
  in.expect('/');
  queue.limit = in.take_decimal();
  return in.ok() ? queue : SignalQueue{};
}

bool maps_every_user_to_itself(std::string_view text) noexcept {
  constexpr std::uint64_t kAllUsers = 0xffffffff;
  Scanner in(text);
  const auto take_column = [&in] {
    in.skip_blanks();
    return in.take_decimal();
  };
  const std::uint64_t inside = take_column(), outside = take_column(), count = take_column();
  return in.ok() && inside == 0 && outside == 0 && count == kAllUsers;
}

bool parse_maps_line(std::string_view line, MapsLine& out) noexcept {
  Scanner in(line);
  out.start = in.take_hex();
  in.expect('-');
  out.end = in.take_hex();
  in.expect(' ');
  out.readable = in.take() == 'r';
  in.take();
  out.executable = in.take() == 'x';
  in.take();
  in.expect(' ');
  out.offset = in.take_hex();
  in.expect(' ');
  const std::uint64_t device_major = in.take_hex();
  in.expect(':');
  out.device = device_major << 32 | in.take_hex();
  in.expect(' ');
  out.inode = in.take_decimal();
  in.skip_blanks();
  out.path = in.rest();
  return in.ok() && out.start < out.end;
}

}  // namespace swipr::agent
