#include "preload/agent/base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iterator>

#include "common/core/errno_saver.h"
#include "preload/agent/base/clock.h"
#include "preload/agent/base/libc_calls.h"
#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/agent/base/text/utc_time.h"

namespace swipr::agent {

namespace {

constexpr std::size_t kMaxDetailBytes = 1024;
constexpr std::string_view kLevelNames[] = {"error", "warning", "info", "debug"};

std::string_view wanted_destination;
LogLevel wanted_level = LogLevel::kInfo;
bool to_stderr = false;
struct stat stderr_at_start {};

int log_fd = -1;               // in the control thread's table
std::uint64_t lost_lines = 0;  // since the last line that was written

// The file that was the program's stderr at load, not one that it has opened since.
bool is_stderr_of_start() noexcept {
  struct stat now {};
  return libc::fstat(STDERR_FILENO, &now) == 0 && now.st_dev == stderr_at_start.st_dev &&
         now.st_ino == stderr_at_start.st_ino;
}

// O_NONBLOCK: a FIFO without a reader.
int open_file() noexcept {
  return ::open(wanted_destination.data(),
                O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK,
                0600);
}

void append_time(TextWriter& out) noexcept {
  const timespec now =
      to_timespec(read_clock(CLOCK_REALTIME).value_or(std::chrono::nanoseconds{0}));
  const UtcTime time = utc_time(static_cast<std::uint64_t>(now.tv_sec));
  out.append_padded(time.year, 4).append('-').append_padded(time.month, 2).append('-');
  out.append_padded(time.day, 2).append('T').append_padded(time.hour, 2).append(':');
  out.append_padded(time.minute, 2).append(':').append_padded(time.second, 2).append('.');
  out.append_padded(static_cast<std::uint64_t>(now.tv_nsec / 1'000'000), 3).append('Z');
}

// Control characters that terminals interpret: C0 and, in UTF-8, C1.
void append_harmless(std::string_view text, TextWriter& out) noexcept {
  unsigned char before = 0;
  for (const char character : leading(text, kMaxDetailBytes)) {
    const auto byte = static_cast<unsigned char>(character);
    const bool control = byte < 0x20 || byte == 0x7f || (before == 0xc2 && byte < 0xa0);
    out.append(control ? '?' : character);
    before = byte;
  }
}

// False: it would have to wait, or the pipe has no reader.
bool write_line(int fd, LogLevel level, std::string_view what, std::string_view detail,
                int error_code) noexcept {
  pollfd place{fd, POLLOUT, 0};
  constexpr timespec kNow{};
  if (poll_descriptors(&place, 1, &kNow) != 1 || place.revents != POLLOUT) return false;
  FixedText<kMaxDetailBytes + 512> line;
  append_time(line);
  line.append(" swipr[").append_number(static_cast<std::uint64_t>(::getpid())).append("] ");
  line.append(kLevelNames[static_cast<std::size_t>(level)]).append(": ").append(what);
  if (!detail.empty()) append_harmless(detail, line.append(": "));
  if (error_code > 0) {
    line.append(": errno ").append_number(static_cast<std::uint64_t>(error_code));
  }
  line.append('\n');
  return ::write(fd, line.c_str(), line.size()) == static_cast<ssize_t>(line.size());
}

bool is_wanted(LogLevel level) noexcept {
  return !wanted_destination.empty() && level <= wanted_level;
}

// Writing to a pipe without a reader raises SIGPIPE in the writing thread.
class QuietSignals {
 public:
  QuietSignals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    was_pending_ = is_pending();
  }
  ~QuietSignals() {
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    constexpr timespec kNow{};
    if (!was_pending_ && is_pending()) ::sigtimedwait(&pipe, nullptr, &kNow);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  static bool is_pending() noexcept {
    sigset_t pending;
    return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGPIPE) == 1;
  }
  sigset_t before_;
  bool was_pending_ = false;
};

}  // namespace

LogLevel parse_log_level(std::string_view text) noexcept {
  for (std::size_t i = 0; i < std::size(kLevelNames); ++i) {
    if (text == kLevelNames[i]) return static_cast<LogLevel>(i);
  }
  return LogLevel::kInfo;
}

void configure_log(std::string_view destination, LogLevel level) noexcept {
  if (destination.empty() || destination == "0") return;
  to_stderr = destination == "1" || destination == "stderr";
  if (to_stderr && libc::fstat(STDERR_FILENO, &stderr_at_start) != 0) return;
  wanted_destination = destination;
  wanted_level = level;
}

void open_log() noexcept {
  log_fd = -1;
  if (wanted_destination.empty()) return;
  if (!to_stderr) {
    log_fd = open_file();
  } else if (is_stderr_of_start()) {
    log_fd = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  }
}

void log_line(LogLevel level, std::string_view what, std::string_view detail,
              int error_code) noexcept {
  if (log_fd < 0 || !is_wanted(level)) return;
  const ErrnoSaver errno_saver;
  if (lost_lines != 0) {
    FixedText<24> count;
    count.append_number(lost_lines);
    if (write_line(log_fd, LogLevel::kWarning, "lines of this log could not be written",
                   count.view(), 0)) {
      lost_lines = 0;
    }
  }
  if (lost_lines != 0 || !write_line(log_fd, level, what, detail, error_code)) ++lost_lines;
}

void log_from_program(LogLevel level, std::string_view what, std::string_view detail,
                      int error_code) noexcept {
  if (!is_wanted(level)) return;
  const ErrnoSaver errno_saver;
  const QuietSignals quiet;
  if (to_stderr) {
    if (is_stderr_of_start()) write_line(STDERR_FILENO, level, what, detail, error_code);
    return;
  }
  const int fd = open_file();
  if (fd < 0) return;
  write_line(fd, level, what, detail, error_code);
  ::close(fd);
}

}  // namespace swipr::agent
