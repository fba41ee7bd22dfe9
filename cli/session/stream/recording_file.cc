#include "cli/session/stream/recording_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "common/wire/encoder.h"

namespace swipr::session {

namespace {

using host::Result;

// EAGAIN: standard output may be a pipe that somebody made non-blocking; poll would be the patient
// answer, but a recorder must not wait without end for its reader, and nobody does that to a file.
Result<void> write_all(int fd, std::span<const std::byte> bytes, std::string_view name) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return host::system_error(fmt::format("cannot write {}", name), errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace

Result<RecordingFile> RecordingFile::open(const std::string& path) {
  if (path == "-") {
    host::UniqueFd fd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!fd) return host::system_error("cannot write standard output", errno);
    return RecordingFile(std::move(fd), "standard output");
  }
  struct stat before {};
  const bool existed = ::stat(path.c_str(), &before) == 0;
  host::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!fd) return host::system_error(fmt::format("cannot write {}", path), errno);
  RecordingFile file(std::move(fd), path);
  struct stat info {};
  file.regular_ = ::fstat(file.fd_.value(), &info) == 0 && S_ISREG(info.st_mode);
  file.created_ = !existed && file.regular_;
  return file;
}

Result<void> RecordingFile::start() {
  if (regular_ && ::ftruncate(fd_.value(), 0) != 0) {
    return host::system_error(fmt::format("cannot write {}", name_), errno);
  }
  std::array<std::byte, wire::kFileHeaderBytes> header{};
  wire::Encoder out(header);
  wire::encode_file_header(out);
  return write(out.bytes());
}

Result<void> RecordingFile::write(std::span<const std::byte> bytes) {
  auto done = write_all(fd_.value(), bytes, name_);
  if (done) {
    bytes_ += bytes.size();
    return done;
  }
  error_ = done.error();
  // The file then ends with a whole block instead of a torn one.
  if (regular_ && ::ftruncate(fd_.value(), static_cast<off_t>(bytes_)) == 0) {
    ::lseek(fd_.value(), static_cast<off_t>(bytes_), SEEK_SET);
  }
  return done;
}

Result<void> RecordingFile::write_block(std::uint32_t source, std::span<const std::byte> payload) {
  if (error_) return *error_;
  if (empty()) {
    if (auto done = start(); !done) {
      error_ = done.error();
      return done;
    }
  }
  std::vector<std::byte> block(wire::kBlockHeaderBytes + payload.size());
  wire::Encoder out(block);
  wire::encode_block_header(out, source, payload);
  std::copy(payload.begin(), payload.end(), block.begin() + wire::kBlockHeaderBytes);
  return write(block);
}

Result<void> RecordingFile::write_end(std::uint32_t source, const wire::EndRecord& record) {
  std::array<std::byte, 1024> payload{};
  wire::Encoder out(payload);
  wire::EndRecord bounded = record;
  bounded.text = bounded.text.substr(0, 512);
  wire::encode(out, bounded);
  return write_block(source, out.bytes());
}

RecordingFile::~RecordingFile() {
  if (fd_) static_cast<void>(close());
}

Result<void> RecordingFile::close() {
  if (created_ && empty()) ::unlink(name_.c_str());
  created_ = false;
  const int fd = fd_.release();
  if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) {
    return host::system_error(fmt::format("cannot write {}", name_), errno);
  }
  return {};
}

}  // namespace swipr::session
