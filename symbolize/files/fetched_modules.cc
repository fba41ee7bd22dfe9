#include "symbolize/files/fetched_modules.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "common/host/unique_fd.h"
#include "symbolize/files/cache_folder.h"

namespace swipr::symbolize {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{2} << 30;

}  // namespace

std::optional<ElfFile> FetchedModules::find(const std::string& build_id) const {
  const std::string path = path_of(build_id);
  auto file = ElfFile::open(path);
  if (!file || file->build_id() != build_id) return std::nullopt;
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used just now
  return std::move(*file);
}

// A name of its own until it is whole: others may fetch the same file at the same time.
void FetchedModules::fetch(const std::string& build_id,
                           const std::function<bool(int fd)>& fill) const {
  make_cache_folder(folder_);
  const std::string temporary = path_of(build_id) + "." + std::to_string(::getpid());
  const host::UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return;
  const bool filled = fill(fd.value());
  const auto file = filled ? ElfFile::open(temporary) : host::Error("nothing came");
  if (!file || file->build_id() != build_id ||
      ::rename(temporary.c_str(), path_of(build_id).c_str()) != 0) {
    ::unlink(temporary.c_str());
    return;
  }
  remove_oldest_files(folder_, kMaxBytes);
}

}  // namespace swipr::symbolize
