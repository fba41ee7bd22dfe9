#include "cli/commands/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace swipr::commands {

namespace {

using host::Result;

host::Error cannot_write(const std::string& name, int error) {
  return host::system_error(fmt::format("cannot write {}", name), error);
}

}  // namespace

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      name_(std::move(other.name_)),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      has_name_(std::exchange(other.has_name_, false)) {}

OutputFile::~OutputFile() {
  if (has_name_) ::unlink(temporary_.c_str());
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  OutputFile file;
  if (path == "-") {
    file.name_ = "standard output";
    file.fd_ = host::UniqueFd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!file.fd_) return cannot_write(file.name_, errno);
    return file;
  }
  file.name_ = path;
  std::array<char, PATH_MAX> resolved{};
  file.target_ = ::realpath(path.c_str(), resolved.data()) == nullptr ? path : resolved.data();
  struct stat info {};
  const bool exists = ::stat(file.target_.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    auto opened = file.open_directly();
    return opened ? Result<OutputFile>(std::move(file)) : opened.error();
  }
  // Renaming over a file that we may not write would get around its protection.
  if (exists && ::access(file.target_.c_str(), W_OK) != 0) return cannot_write(path, errno);
  auto opened = file.open_temporary();
  if (!opened && exists) opened = file.open_directly();
  if (!opened) return opened.error();
  if (exists) static_cast<void>(::fchmod(file.fd(), info.st_mode & 07777));
  return file;
}

Result<void> OutputFile::open_directly() {
  fd_ = host::UniqueFd(::open(target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  return fd_ ? Result<void>() : cannot_write(name_, errno);
}

Result<void> OutputFile::open_temporary() {
  const std::size_t slash = target_.rfind('/') + 1;  // npos + 1 is 0
  const std::string folder = slash == 0 ? "." : target_.substr(0, slash);
  temporary_ = fmt::format("{}/.{}.{}.tmp", folder, target_.substr(slash), ::getpid());
  // A file without a name vanishes even when we are killed; not every file system has that.
  fd_ = host::UniqueFd(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  has_name_ = !fd_;
  if (has_name_) {
    fd_ = host::UniqueFd(
        ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  }
  if (fd_) return {};
  has_name_ = false;
  temporary_.clear();
  return cannot_write(name_, errno);
}

Result<void> OutputFile::commit() {
  if (temporary_.empty()) return {};
  // linkat cannot replace a file, rename can.
  const std::string self = fmt::format("/proc/self/fd/{}", fd_.value());
  if (!has_name_ &&
      ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return cannot_write(name_, errno);
  }
  has_name_ = true;
  // What a full disk or a network file system reports late must come before the rename.
  if (::close(fd_.release()) != 0 && errno != EINTR) return cannot_write(name_, errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return cannot_write(name_, errno);
  has_name_ = false;
  return {};
}

}  // namespace swipr::commands
