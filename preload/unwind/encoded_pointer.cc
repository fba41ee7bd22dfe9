#include "preload/unwind/encoded_pointer.h"

namespace swipr::unwind {
namespace {

constexpr std::uint8_t kFormatMask = 0x0f;
constexpr std::uint8_t kBaseMask = 0x70;
constexpr std::uint8_t kIndirect = 0x80;

template <typename T>
std::uint64_t sign_extended(ByteCursor& cursor) noexcept {
  return static_cast<std::uint64_t>(std::int64_t{cursor.fixed<T>()});
}

}  // namespace

bool decode_number(ByteCursor& cursor, std::uint8_t encoding, std::uint64_t& out) noexcept {
  switch (encoding & kFormatMask) {
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

bool decode_pointer(ByteCursor& cursor, std::uint8_t encoding, const PointerBases& bases,
                    std::uint64_t& out) noexcept {
  if ((encoding & kIndirect) != 0 || encoding == kPointerOmitted) return false;
  std::uint64_t number = 0;
  if (!decode_number(cursor, encoding, number)) return false;
  switch (encoding & kBaseMask) {
    case 0x00:
      out = number - bases.absolute;
      return true;
    case 0x10:
      out = number + bases.field;
      return true;  // pcrel
    case 0x30:
      out = number + bases.data;
      return true;  // datarel
    default:
      return false;
  }
}

}  // namespace swipr::unwind
