// Pointers as exception handling sections encode them.
// Context: control thread.
// Source: LSB 5.0 Core, section 10.5 (DWARF extensions).
#pragma once

#include <cstdint>

#include "preload/unwind/byte_cursor.h"

namespace swipr::unwind {

inline constexpr std::uint8_t kPointerOmitted = 0xff;

// Image addresses.
struct PointerBases {
  std::uint64_t field = 0;     // of the byte that the cursor stands on
  std::uint64_t data = 0;      // what datarel counts from
  std::uint64_t absolute = 0;  // the load bias: absolute pointers are relocated, run-time addresses
};

// `encoding`'s number only, as for the size of an FDE; false: unknown format or past the end.
bool decode_number(ByteCursor& cursor, std::uint8_t encoding, std::uint64_t& out) noexcept;

// An image address. False: unknown
// format, past the end, or a base that does not occur in these places (textrel, funcrel, indirect).
bool decode_pointer(ByteCursor& cursor, std::uint8_t encoding, const PointerBases& bases,
                    std::uint64_t& out) noexcept;

}  // namespace swipr::unwind
