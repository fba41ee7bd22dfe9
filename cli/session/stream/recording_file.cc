#include "cli/session/stream/recording_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/sendfile.h>
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

// EAGAIN (standard output is a non-blocking pipe) is an error, because a recorder must not wait
// for its reader without limit.
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
  auto place = host::find_output_place(path);
  if (!place) return place.error();
  auto fd = host::open_output(*place, O_CREAT, path);
  if (!fd) return fd.error();
  RecordingFile file(*std::move(fd), path);
  struct stat info {};
  file.regular_ = ::fstat(file.fd_.value(), &info) == 0 && S_ISREG(info.st_mode);
  if (!place->exists && file.regular_) file.created_ = *std::move(place);
  return file;
}

Result<RecordingFile> RecordingFile::create_temporary(const std::string& folder) {
  host::UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd) {  // not supported by all file systems
    std::string name = folder + "/.swipr-XXXXXX";
    fd = host::UniqueFd(::mkostemp(name.data(), O_CLOEXEC));
    if (fd) ::unlink(name.c_str());
  }
  if (!fd) return host::system_error(fmt::format("cannot create a file in {}", folder), errno);
  RecordingFile file(std::move(fd), fmt::format("a temporary file in {}", folder));
  file.regular_ = true;
  return file;
}

int RecordingFile::rewind() {
  ::lseek(fd_.value(), 0, SEEK_SET);
  return fd_.value();
}

Result<void> RecordingFile::keep_as(const std::string& path) {
  const std::string self = fmt::format("/proc/self/fd/{}", fd_.value());
  if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const host::UniqueFd copy(::open(path.c_str(), kFlags, 0600));
  if (!copy) return host::system_error(fmt::format("cannot write {}", path), errno);
  off_t offset = 0;
  while (offset < static_cast<off_t>(bytes_)) {
    const std::size_t rest = bytes_ - static_cast<std::size_t>(offset);
    const ssize_t count = ::sendfile(copy.value(), fd_.value(), &offset, rest);
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    const int error = errno;
    ::unlink(path.c_str());
    return host::system_error(fmt::format("cannot write {}", path), error);
  }
  return {};
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
  // So that the file ends with a complete block.
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

Result<void> RecordingFile::write_message(std::uint32_t source, std::string_view text) {
  std::array<std::byte, 1024> payload{};
  wire::Encoder out(payload);
  wire::encode(out, wire::MessageRecord{wire::MessageLevel::kWarning, text.substr(0, 900)});
  return write_block(source, out.bytes());
}

RecordingFile::~RecordingFile() {
  if (fd_) static_cast<void>(close());
}

Result<void> RecordingFile::close() {
  if (created_ && empty()) ::unlinkat(created_->folder.value(), created_->name.c_str(), 0);
  created_.reset();
  const int fd = fd_.release();
  if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) {
    return host::system_error(fmt::format("cannot write {}", name_), errno);
  }
  return {};
}

}  // namespace swipr::session
