#include "preload/unwind/cfi/encoded_pointer.h"

namespace swipr::unwind {
namespace {

template <typename T>
std::uint64_t sign_extended(ByteCursor& cursor) noexcept {
  return static_cast<std::uint64_t>(std::int64_t{cursor.fixed<T>()});
}

}  // namespace

bool decode_unusual_number(ByteCursor& cursor, std::uint8_t encoding, std::uint64_t& out) noexcept {
  switch (encoding & 0x0f) {
    case 0x00:  // absptr
    case 0x04:  // udata8
    case 0x0c:  // sdata8
      out = cursor.fixed<std::uint64_t>();
      break;
    case 0x01:
      out = cursor.uleb();
      break;
    case 0x02:
      out = cursor.fixed<std::uint16_t>();
      break;
    case 0x03:
      out = cursor.fixed<std::uint32_t>();
      break;
    case 0x09:
      out = static_cast<std::uint64_t>(cursor.sleb());
      break;
    case 0x0a:
      out = sign_extended<std::int16_t>(cursor);
      break;
    case 0x0b:
      out = sign_extended<std::int32_t>(cursor);
      break;
    default:
      return false;
  }
  return !cursor.failed();
}

}  // namespace swipr::unwind
