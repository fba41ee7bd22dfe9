#include "cli/export/text/sink.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace swipr::exporters {

namespace {
// Size of the buffers passed between the threads. Larger buffers cause fewer waits.
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
// Linux allocates page cache for a write to ext4 in pieces as large as the write. A virtual
// machine that returns large free pieces to its host must request them again: 2.7 GB took 1 s in
// writes of this size and 6.5 s in writes of 1 MiB (docs/PERFORMANCE.md).
constexpr std::size_t kMaxWriteBytes = std::size_t{64} << 10;
}  // namespace

Sink::Sink(int fd, std::string name) : fd_(fd), name_(std::move(name)) {
  buffer_.reserve(kBufferBytes);
}

Sink::~Sink() {
  if (!writer_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  writer_.join();
}

void Sink::write(std::string_view bytes) {
  while (!bytes.empty() && !failed()) {
    const std::size_t part = std::min(bytes.size(), kBufferBytes - buffer_.size());
    buffer_ += bytes.substr(0, part);
    bytes.remove_prefix(part);
    if (buffer_.size() == kBufferBytes) hand_over();
  }
}

host::Result<void> Sink::flush() {
  wait_until_written();
  put(buffer_);
  buffer_.clear();
  if (failed()) return host::system_error("cannot write " + name_, errno_);
  return {};
}

void Sink::hand_over() {
  if (!writer_.joinable()) {
    full_.reserve(kBufferBytes);
    try {
      writer_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {  // no thread available: write synchronously
      put(buffer_);
      buffer_.clear();
      return;
    }
  }
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return full_.empty(); });
    std::swap(buffer_, full_);
  }
  changed_.notify_all();
}

void Sink::wait_until_written() {
  if (!writer_.joinable()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return full_.empty(); });
}

void Sink::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !full_.empty(); });
    if (full_.empty()) return;
    lock.unlock();
    put(full_);
    lock.lock();
    full_.clear();
    changed_.notify_all();
  }
}

void Sink::put(std::string_view bytes) {
  while (!bytes.empty() && !failed()) {
    const ssize_t size = ::write(fd_, bytes.data(), std::min(bytes.size(), kMaxWriteBytes));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      errno_ = errno;
      break;
    }
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

}  // namespace swipr::exporters
