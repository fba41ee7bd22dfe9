#include "common/host/output_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>

namespace swipr::host {

namespace {

constexpr int kMaxLinks = 40;  // as the kernel: path_resolution(7)

Error cannot_write(const std::string& path, std::string_view reason) {
  return Error(fmt::format("cannot write {}: {}", path, reason));
}

Error cannot_write(const std::string& path, int error) {
  return system_error("cannot write " + path, error);
}

bool is_trusted(uid_t owner) { return owner == ::geteuid() || owner == 0; }

bool is_in_proc(int folder) {
  struct statfs info {};
  return ::fstatfs(folder, &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

// Folders that groups of root can write to count as shared, because any user may be a member.
bool is_shared(int folder) {
  struct stat info {};
  if (::fstat(folder, &info) != 0) return true;
  const mode_t others = ::geteuid() == 0 ? S_IWGRP | S_IWOTH : S_IWOTH;
  return !is_trusted(info.st_uid) || (info.st_mode & others) != 0;
}

// Walks a path component by component. A component is opened before it is checked, so that it
// cannot be replaced in between.
class Walk {
 public:
  explicit Walk(const std::string& path) : path_(path), rest_(path) {}

  Result<OutputPlace> run() {
    if (rest_.empty()) return cannot_write(path_, ENOENT);
    place_.folder = UniqueFd(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (bool arrived = false; !arrived;) {
      if (rest_.starts_with('/')) {
        if (at_begin_) place_.folder = UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
        rest_.erase(0, std::min(rest_.find_first_not_of('/'), rest_.size()));
      }
      if (!place_.folder) return cannot_write(path_, errno);
      auto stepped = step();
      if (!stepped) return stepped.error();
      arrived = *stepped;
    }
    place_.is_shared = is_shared(place_.folder.value());
    return std::move(place_);
  }

 private:
  // Into the next folder, to where a link leads, or (true) to the last component.
  Result<bool> step() {
    const std::size_t end = std::min(rest_.find('/'), rest_.size());
    place_.name = end == 0 ? "." : rest_.substr(0, end);
    rest_.erase(0, end);
    at_begin_ = false;
    const bool is_last = rest_.empty();
    UniqueFd entry = open_entry(O_NOFOLLOW);
    if (!entry && is_last && errno == ENOENT) return true;
    struct stat info {};
    if (!entry || ::fstat(entry.value(), &info) != 0) return cannot_write(path_, errno);
    if (S_ISLNK(info.st_mode)) {
      if (!is_in_proc(place_.folder.value())) return follow(entry.value(), info.st_uid);
      place_.is_magic = is_last;
      if (!is_last) entry = open_entry(O_DIRECTORY);
      if (!entry) return cannot_write(path_, errno);
    }
    place_.exists = is_last;
    if (!is_last) place_.folder = std::move(entry);
    return is_last;
  }

  UniqueFd open_entry(int flags) const {
    return UniqueFd(
        ::openat(place_.folder.value(), place_.name.c_str(), O_PATH | O_CLOEXEC | flags));
  }

  Result<bool> follow(int link, uid_t owner) {
    if (!is_trusted(owner)) {
      return cannot_write(path_, fmt::format("'{}' is a symbolic link of user {}; only links of "
                                             "this user and of root are followed",
                                             place_.name, owner));
    }
    if (++links_ > kMaxLinks) return cannot_write(path_, ELOOP);
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlinkat(link, "", target.data(), target.size());
    if (size <= 0) return cannot_write(path_, size == 0 ? ENOENT : errno);
    rest_.insert(0, target.data(), static_cast<std::size_t>(size));
    at_begin_ = true;
    return false;
  }

  const std::string& path_;
  std::string rest_;      // remaining components
  bool at_begin_ = true;  // at the start of a path, where a slash is the root
  int links_ = 0;
  OutputPlace place_;
};

}  // namespace

Result<OutputPlace> find_output_place(const std::string& path) { return Walk(path).run(); }

Result<UniqueFd> open_output(const OutputPlace& place, int flags, const std::string& path) {
  const int follow = place.is_magic ? 0 : O_NOFOLLOW;
  UniqueFd fd(::openat(place.folder.value(), place.name.c_str(),
                       (flags & ~O_TRUNC) | O_WRONLY | O_CLOEXEC | follow, 0666));
  if (!fd) return cannot_write(path, errno);
  struct stat info {};
  if (::fstat(fd.value(), &info) != 0) return cannot_write(path, errno);
  if (place.is_shared && !place.is_magic) {
    if (!is_trusted(info.st_uid)) {
      return cannot_write(path, fmt::format("the file belongs to user {}, and others can write to "
                                            "its folder",
                                            info.st_uid));
    }
    if (S_ISREG(info.st_mode) && info.st_nlink > 1) {
      return cannot_write(path, "the file has another name, and others can write to its folder");
    }
  }
  if ((flags & O_TRUNC) != 0 && S_ISREG(info.st_mode) && ::ftruncate(fd.value(), 0) != 0) {
    return cannot_write(path, errno);
  }
  return fd;
}

}  // namespace swipr::host
