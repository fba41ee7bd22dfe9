// Text in UTF-8 or Latin-1 that lies in one place of a runtime's memory.
// Context: control thread.  Allocates: never.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "preload/runtimes/function_text.h"
#include "preload/runtimes/object_reader.h"

namespace swipr::runtimes {

// Bytes that are no UTF-8 become U+FFFD; what does not fit is cut. False: unreadable.
template <std::size_t kBytes>
bool append_utf8(ObjectPieces& reader, std::uint64_t address, std::uint64_t length,
                 BoundedText<kBytes>& out) noexcept {
  constexpr std::uint32_t kInvalid = 0xfffd;
  const std::uint64_t count = std::min(length, std::uint64_t{kBytes});
  std::uint32_t code_point = 0;
  unsigned more = 0;  // bytes of the character that are still to come
  for (std::uint64_t index = 0; index < count; ++index) {
    std::uint8_t byte = 0;
    if (!reader.read_value(address + index, byte)) return false;
    if (more != 0 && (byte & 0xc0) == 0x80) {
      code_point = code_point << 6 | (byte & 0x3fu);
      if (--more == 0) out.append(code_point);
      continue;
    }
    if (more != 0) out.append(kInvalid);
    more = 0;
    if (byte < 0x80) {
      out.append(byte);
    } else if (byte < 0xc0 || byte >= 0xf8) {
      out.append(kInvalid);
    } else {
      more = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      code_point = byte & (0x3fu >> more);
    }
  }
  if (count < length) {
    out.cut();
  } else if (more != 0) {
    out.append(kInvalid);
  }
  return true;
}

// As append_utf8, of text in Latin-1.
template <std::size_t kBytes>
bool append_latin1(ObjectPieces& reader, std::uint64_t address, std::uint64_t length,
                   BoundedText<kBytes>& out) noexcept {
  for (std::uint64_t at = 0; at < length; ++at) {
    std::uint8_t byte = 0;
    if (!reader.read_value(address + at, byte)) return false;
    out.append(byte);
  }
  return true;
}

template <std::size_t kBytes>
bool read_utf8(ObjectPieces& reader, std::uint64_t address, std::uint64_t length,
               BoundedText<kBytes>& out) noexcept {
  out.clear();
  return append_utf8(reader, address, length, out);
}

}  // namespace swipr::runtimes
