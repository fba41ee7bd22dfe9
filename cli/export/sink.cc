#include "cli/export/sink.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace swipr::exporters {

namespace {
// 3 GB of text take a fifth to a third less CPU time in writes of this size than in writes of 128
// KiB.
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
}  // namespace

Sink::Sink(int fd, std::string name) : fd_(fd), name_(std::move(name)) {
  buffer_.reserve(kBufferBytes);
}

void Sink::write(std::string_view bytes) {
  while (!bytes.empty() && !failed()) {
    const std::size_t part = std::min(bytes.size(), kBufferBytes - buffer_.size());
    buffer_ += bytes.substr(0, part);
    bytes.remove_prefix(part);
    if (buffer_.size() == kBufferBytes) drain();
  }
}

host::Result<void> Sink::flush() {
  if (!failed()) drain();
  if (failed()) return host::system_error("cannot write " + name_, errno_);
  return {};
}

void Sink::drain() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t size = ::write(fd_, rest.data(), rest.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      errno_ = errno;
      break;
    }
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  buffer_.clear();
}

}  // namespace swipr::exporters
