// Encodings of attribute values.
// Source: DWARF 5, section 7.5.6; GNU's forms as elfutils and GDB read them.
#pragma once

#include <cstdint>
#include <optional>

#include "common/core/byte_cursor.h"

namespace swipr::symbolize {

// Number formats, from the header of a unit.
struct UnitFormat {
  std::uint16_t version = 0;
  std::uint8_t address_bytes = 0;
  std::uint8_t offset_bytes = 0;
};

enum class ValueShape : std::uint8_t {
  kFixed,     // of `bytes` bytes
  kLeb,       // a LEB128 number
  kString,    // up to a zero
  kBlock,     // a count of `bytes` bytes, then the block
  kLebBlock,  // a LEB128 count, then the block
  kIndirect,  // another form as LEB128, then its value
};

struct ValueLayout {
  ValueShape shape = ValueShape::kFixed;
  std::uint8_t bytes = 0;
};

// Returns none for an unknown form; the rest of the unit cannot be read then.
std::optional<ValueLayout> find_layout(std::uint64_t form, const UnitFormat& format);

// The cursor fails at the end of the bytes and behind an unknown indirect form.
void skip_value(ByteCursor& cursor, ValueLayout layout, const UnitFormat& format);

// A number of 0 to 8 bytes in memory order. None, and a failed cursor: past the end.
std::uint64_t read_number(ByteCursor& cursor, std::uint8_t bytes);

}  // namespace swipr::symbolize
