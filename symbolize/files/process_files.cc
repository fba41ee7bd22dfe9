#include "symbolize/files/process_files.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "common/host/proc.h"

namespace swipr::symbolize {

// An absolute link in a container means a path in that container. openat2 resolves it so; where a
// kernel or a filter has no openat2, a plain open is right for all paths without absolute links.
host::Result<host::UniqueFd> open_in_root(const std::string& root, const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  host::UniqueFd directory(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return host::system_error(root, errno);
  struct open_how how {};
  how.flags = kFlags;
  how.resolve = RESOLVE_IN_ROOT;
  long fd = ::syscall(SYS_openat2, directory.value(), path.c_str(), &how, sizeof how);
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) fd = ::open((root + path).c_str(), kFlags);
  if (fd < 0) return host::system_error(root + path, errno);
  return host::UniqueFd(static_cast<int>(fd));
}

std::vector<Pid> find_namesakes(std::int32_t pid) {
  std::vector<Pid> found;
  for (const Pid process : host::list_processes()) {
    const auto status = host::read_process_status(process);
    if (status && process.value != pid && status->namespace_pid.value == pid) {
      found.push_back(process);
    }
  }
  return found;
}

}  // namespace swipr::symbolize
