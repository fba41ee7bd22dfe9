#include "preload/agent/proc/proc_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "preload/agent/base/clock.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/agent/proc/proc_directory.h"

namespace swipr::agent {

namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

}  // namespace

bool read_file_text(const char* path, TextWriter& out) noexcept {
  const int fd = open_below_proc(path, O_RDONLY);
  if (fd < 0) return false;
  ssize_t got = 0;
  do {
    const std::span<char> space = out.free_space();
    got = space.empty() ? 0 : ::read(fd, space.data(), space.size());
    if (got > 0) out.grow(static_cast<std::size_t>(got));
  } while (got > 0);
  ::close(fd);
  return got == 0;
}

// Source: proc(5), /proc/PID/stat: 20 num_threads, 22 starttime in clock ticks since boot.
ProcessStatus read_process_status() noexcept {
  FixedText<1024> text;
  ProcessStatus status;
  if (!read_file_text("/proc/self/stat", text)) return status;
  std::string_view rest = text.view();
  rest.remove_prefix(rest.rfind(')') + 1);  // the name before it may contain any character
  for (int field = 3; field <= 22 && !rest.empty(); ++field) {
    rest.remove_prefix(1);
    const std::string_view value = leading(rest, rest.find(' '));
    rest.remove_prefix(value.size());
    if (field != 20 && field != 22) continue;
    std::uint64_t number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    if (field == 20) status.threads = number;
    if (field == 22) {
      const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
      const std::uint64_t booted = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);
      status.start_time_ns = booted + number * (kNsPerSecond / per_second);
    }
  }
  return status;
}

LineReader::LineReader(const char* path) noexcept : fd_(open_below_proc(path, O_RDONLY)) {
  at_end_ = fd_ < 0;
}

LineReader::~LineReader() {
  if (fd_ >= 0) ::close(fd_);
}

bool LineReader::refill() noexcept {
  if (at_end_) return false;
  std::memmove(buffer_, buffer_ + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const ssize_t got = ::read(fd_, buffer_ + end_, sizeof buffer_ - end_);
  if (got <= 0) {
    at_end_ = true;
    return false;
  }
  end_ += static_cast<std::size_t>(got);
  return true;
}

bool LineReader::next(std::string_view& line) noexcept {
  for (;;) {
    const std::string_view rest(buffer_ + begin_, end_ - begin_);
    const std::size_t length = rest.find('\n');
    if (length != std::string_view::npos) {
      begin_ += length + 1;
      line = leading(rest, length);
      if (!skipping_) return true;
      skipping_ = false;
    } else if (rest.size() == sizeof buffer_) {
      begin_ = end_;
      line = rest;
      const bool first = !skipping_;
      skipping_ = true;
      if (first) return true;
    } else if (!refill()) {
      return false;  // the kernel ends every line of these files
    }
  }
}

}  // namespace swipr::agent
