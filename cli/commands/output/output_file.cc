#include "cli/commands/output/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "common/host/secret.h"

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
      place_(std::move(other.place_)),
      temporary_(std::move(other.temporary_)),
      has_name_(std::exchange(other.has_name_, false)) {}

OutputFile::~OutputFile() {
  if (has_name_) ::unlinkat(place_.folder.value(), temporary_.c_str(), 0);
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
  auto place = host::find_output_place(path);
  if (!place) return place.error();
  file.place_ = *std::move(place);
  if (!file.place_.exists) {
    auto opened = file.open_temporary();
    return opened ? Result<OutputFile>(std::move(file)) : opened.error();
  }
  // Renaming over a file without write permission would bypass its protection.
  if (auto opened = file.open_directly(); !opened) return opened.error();
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return cannot_write(path, errno);
  if (!S_ISREG(info.st_mode)) return file;
  host::UniqueFd directly = std::move(file.fd_);
  if (file.open_temporary()) {
    static_cast<void>(::fchmod(file.fd(), info.st_mode & 0777));
  } else if (::ftruncate(directly.value(), 0) == 0) {
    file.fd_ = std::move(directly);
  } else {
    return cannot_write(path, errno);
  }
  return file;
}

Result<void> OutputFile::open_directly() {
  auto opened = host::open_output(place_, 0, name_);
  if (!opened) return opened.error();
  fd_ = *std::move(opened);
  return {};
}

Result<void> OutputFile::open_temporary() {
  const auto secret = host::make_secret();  // an unpredictable name
  if (!secret) return secret.error();
  const int folder = place_.folder.value();
  temporary_ = fmt::format(".{}.{}.tmp", place_.name, secret->substr(0, 16));
  // An unnamed file disappears even if this process is killed. Not supported by all file systems.
  fd_ = host::UniqueFd(::openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  has_name_ = !fd_;
  if (has_name_) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    fd_ = host::UniqueFd(::openat(folder, temporary_.c_str(), kFlags, 0666));
  }
  if (fd_) return {};
  has_name_ = false;
  temporary_.clear();
  return cannot_write(name_, errno);
}

Result<void> OutputFile::commit() {
  if (temporary_.empty()) return {};
  // linkat cannot replace a file, rename can.
  const int folder = place_.folder.value();
  const std::string self = fmt::format("/proc/self/fd/{}", fd_.value());
  if (!has_name_ &&
      ::linkat(AT_FDCWD, self.c_str(), folder, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return cannot_write(name_, errno);
  }
  has_name_ = true;
  // Errors that a network file system reports late must precede the rename.
  if (::close(fd_.release()) != 0 && errno != EINTR) return cannot_write(name_, errno);
  if (::renameat(folder, temporary_.c_str(), folder, place_.name.c_str()) != 0) {
    return cannot_write(name_, errno);
  }
  has_name_ = false;
  return {};
}

}  // namespace swipr::commands
