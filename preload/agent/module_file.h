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

// `build_id` in lower-case hex. fd −1: no executable mapping has a file with it. Only a file that
// is the mapped one (path, inode and build-id) is handed out: nothing else can be fetched through
// this.
ModuleFile open_module_file(std::string_view build_id) noexcept;

}  // namespace swipr::agent
