// .debug_frame of an image's file: the CFI of code that was built without .eh_frame. It is not
// mapped, so it is read from the file. Compressed sections are not supported, because they would
// have to be inflated in the recorded process.
// Context: control thread.  Allocates: never.
#pragma once

#include <cstdint>
#include <string_view>

#include "preload/unwind/image/table_builder.h"

namespace swipr::agent {

class DebugFrameFile {
 public:
  // Opens the file when it is the mapped one (inode) and has the section.
  DebugFrameFile(std::string_view path, std::uint64_t inode) noexcept;
  ~DebugFrameFile();
  DebugFrameFile(const DebugFrameFile&) = delete;
  DebugFrameFile& operator=(const DebugFrameFile&) = delete;

  // bytes == 0: no section. Valid as long as this object.
  unwind::DebugFrame section() noexcept;

 private:
  bool find_section() noexcept;
  bool read_at(std::uint64_t offset, void* out, std::size_t bytes) const noexcept;

  int file_ = -1;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace swipr::agent
