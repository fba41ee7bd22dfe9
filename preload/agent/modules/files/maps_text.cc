#include "preload/agent/modules/files/maps_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "preload/agent/proc/proc_directory.h"

namespace swipr::agent {

bool read_maps_text(MappedArray<char>& out) noexcept {
  const int file = open_below_proc("/proc/self/maps", O_RDONLY);
  if (file < 0) return false;
  out.clear();
  bool ok = true;
  while (ok) {
    ok = out.reserve(out.size() + 65536);
    if (!ok) break;
    const ssize_t count = ::read(file, out.data() + out.size(), 65536);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      ok = count == 0;
      break;
    }
    out.add_written(static_cast<std::size_t>(count));
  }
  ::close(file);
  return ok && !out.empty();
}

}  // namespace swipr::agent
