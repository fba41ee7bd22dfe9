#include "preload/agent/proc_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace swipr::agent {

bool read_file_text(const char* path, TextWriter& out) noexcept {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
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

LineReader::LineReader(const char* path) noexcept : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {
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
      line = rest.substr(0, length);
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
