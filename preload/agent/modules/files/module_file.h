// Finds the file of a mapped module by its build-id, for a client that shares only the socket.
// Context: control thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace swipr::agent {

struct ModuleFile {
  int fd = -1;  // owned by the caller
  std::uint64_t size_bytes = 0;
};

// `build_id` in lower-case hex. fd −1: no executable mapping has such a file that can be opened;
// deleted files and memfds can be opened if the kernel permits this process to follow its own
// map_files. Only the mapped file itself is returned: no path from a request reaches the file
// system.
ModuleFile open_module_file(std::string_view build_id) noexcept;

}  // namespace swipr::agent
