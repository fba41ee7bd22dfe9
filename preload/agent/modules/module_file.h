// Finds the file of a mapped module by its build-id, for a client that shares only the socket.
// Context: control thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace swipr::agent {

struct ModuleFile {
  int fd = -1;  // the caller's
  std::uint64_t size_bytes = 0;
};

// `build_id` in lower-case hex. fd −1: no executable mapping has a file with it that can be opened;
// deleted files and memfds can be where the kernel lets this process follow its own map_files. Only
// a file that is the mapped one is handed out: no path from a request reaches the file system.
ModuleFile open_module_file(std::string_view build_id) noexcept;

}  // namespace swipr::agent
