// Pointers as exception handling sections encode them.
// Context: control thread.
// Source: LSB 5.0 Core, section 10.5 (DWARF extensions).
#pragma once

#include <cstdint>

#include "common/core/byte_cursor.h"

namespace swipr::unwind {

inline constexpr std::uint8_t kPointerOmitted = 0xff;

// Image addresses.
struct PointerBases {
  std::uint64_t field = 0;     // of the byte at the cursor
  std::uint64_t data = 0;      // base of datarel
  std::uint64_t absolute = 0;  // the load bias: absolute pointers are relocated, run-time addresses
};

// Only the number, without its base, as for the size of an FDE; false: unknown format or past the
// end.
bool decode_number(ByteCursor& cursor, std::uint8_t encoding, std::uint64_t& out) noexcept;

// An image address. False: unknown format, past the end, or a base that these sections do not use
// (textrel, funcrel, indirect).
bool decode_pointer(ByteCursor& cursor, std::uint8_t encoding, const PointerBases& bases,
                    std::uint64_t& out) noexcept;

// Any format; called by decode_number.
bool decode_unusual_number(ByteCursor& cursor, std::uint8_t encoding, std::uint64_t& out) noexcept;

inline bool decode_number(ByteCursor& cursor, std::uint8_t encoding, std::uint64_t& out) noexcept {
  constexpr std::uint8_t kSigned4 = 0x0b;  // used by linkers
  if ((encoding & 0x0f) != kSigned4) return decode_unusual_number(cursor, encoding, out);
  out = static_cast<std::uint64_t>(std::int64_t{cursor.fixed<std::int32_t>()});
  return !cursor.failed();
}

inline bool decode_pointer(ByteCursor& cursor, std::uint8_t encoding, const PointerBases& bases,
                           std::uint64_t& out) noexcept {
  if ((encoding & 0x80) != 0 || encoding == kPointerOmitted) return false;
  std::uint64_t number = 0;
  if (!decode_number(cursor, encoding, number)) return false;
  switch (encoding & 0x70) {
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
