// The names in a directory, without opendir, which allocates.
// Context: control thread.  Allocates: never.
// Source: getdents64(2). 8 bytes inode, 8 offset, 2 record length, 1 type, then the name.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace swipr::agent {

// Calls on_name(const char*) for each entry from the directory's start on, until it returns false.
// False: the directory cannot be read.  Bounds: kBufferBytes of stack.
template <std::size_t kBufferBytes, typename OnName>
bool for_each_name(int directory, OnName&& on_name) noexcept {
  constexpr std::size_t kRecordLengthAt = 16;
  constexpr std::size_t kNameAt = 19;
  if (::lseek(directory, 0, SEEK_SET) != 0) return false;
  alignas(std::uint64_t) char buffer[kBufferBytes];
  while (true) {
    const long size = ::syscall(SYS_getdents64, directory, buffer, sizeof buffer);
    if (size <= 0) return size == 0;
    for (long at = 0; at < size;) {
      std::uint16_t length = 0;
      std::memcpy(&length, buffer + at + kRecordLengthAt, sizeof length);
      if (!on_name(static_cast<const char*>(buffer + at + kNameAt))) return true;
      at += length;
    }
  }
}

}  // namespace swipr::agent
