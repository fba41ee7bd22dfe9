#include "symbolize/dwarf/dwarf_forms.h"

#include <dwarf.h>

#include <cstring>

namespace swipr::symbolize {
namespace {

std::optional<ValueLayout> fixed(std::uint8_t bytes) {
  return ValueLayout{ValueShape::kFixed, bytes};
}

void skip_string(ByteCursor& cursor) {
  const auto rest = cursor.rest();
  const void* end = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
  if (end == nullptr) return cursor.fail();
  cursor.skip(static_cast<std::size_t>(static_cast<const std::byte*>(end) - rest.data()) + 1);
}

}  // namespace

std::optional<ValueLayout> find_layout(std::uint64_t form, const UnitFormat& format) {
  switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
      return fixed(0);
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
      return fixed(1);
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
      return fixed(2);
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
      return fixed(3);
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
      return fixed(4);
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
      return fixed(8);
    case DW_FORM_data16:
      return fixed(16);
    case DW_FORM_addr:
      return fixed(format.address_bytes);
    case DW_FORM_ref_addr:  // DWARF 2 took it for an address
      return fixed(format.version <= 2 ? format.address_bytes : format.offset_bytes);
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
      return fixed(format.offset_bytes);
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
      return ValueLayout{ValueShape::kLeb, 0};
    case DW_FORM_string:
      return ValueLayout{ValueShape::kString, 0};
    case DW_FORM_block1:
      return ValueLayout{ValueShape::kBlock, 1};
    case DW_FORM_block2:
      return ValueLayout{ValueShape::kBlock, 2};
    case DW_FORM_block4:
      return ValueLayout{ValueShape::kBlock, 4};
    case DW_FORM_block:
    case DW_FORM_exprloc:
      return ValueLayout{ValueShape::kLebBlock, 0};
    case DW_FORM_indirect:
      return ValueLayout{ValueShape::kIndirect, 0};
    default:
      return std::nullopt;
  }
}

void skip_value(ByteCursor& cursor, ValueLayout layout, const UnitFormat& format) {
  switch (layout.shape) {
    case ValueShape::kFixed:
      return cursor.skip(layout.bytes);
    case ValueShape::kLeb:
      cursor.uleb();
      return;
    case ValueShape::kString:
      return skip_string(cursor);
    case ValueShape::kBlock:
      return cursor.skip(read_number(cursor, layout.bytes));
    case ValueShape::kLebBlock:
      return cursor.skip(cursor.uleb());
    case ValueShape::kIndirect:
      const std::uint64_t form = cursor.uleb();
      const auto inner = find_layout(form, format);
      // One that leads to another, or to a constant that is not here, has no meaning.
      const bool is_usable =
          inner && inner->shape != ValueShape::kIndirect && form != DW_FORM_implicit_const;
      return is_usable ? skip_value(cursor, *inner, format) : cursor.fail();
  }
}

std::uint64_t read_number(ByteCursor& cursor, std::uint8_t bytes) {
  switch (bytes) {
    case 1:
      return cursor.u8();
    case 2:
      return cursor.fixed<std::uint16_t>();
    case 4:
      return cursor.fixed<std::uint32_t>();
    case 8:
      return cursor.fixed<std::uint64_t>();
    default: {
      std::uint64_t number = 0;
      const auto taken = cursor.take(bytes);
      if (taken.size() <= sizeof number && !taken.empty()) {
        std::memcpy(&number, taken.data(), taken.size());
      }
      return number;
    }
  }
}

}  // namespace swipr::symbolize
