#include "symbolize/dwarf/code_ranges.h"

#include <dwarf.h>

namespace swipr::symbolize {
namespace {

std::optional<std::uint64_t> number_attribute(const Dwarf_Die& die, unsigned int name) {
  Dwarf_Die copy = die;
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(&copy, name, &attribute) == nullptr) return std::nullopt;
  if (dwarf_formudata(&attribute, &value) != 0) return std::nullopt;
  return value;
}

}  // namespace

CodeRanges::CodeRanges(const Dwarf_Die& unit, const UnitFormat& format,
                       const DwarfSections& sections, const DwarfSections& tree_sections)
    : format_(format), sections_(&sections), tree_sections_(&tree_sections) {
  Dwarf_Die copy = unit;
  Dwarf_Addr low = 0;
  if (dwarf_lowpc(&copy, &low) == 0) base_ = low;
  addresses_at_ = number_attribute(unit, DW_AT_addr_base);
  lists_at_ = number_attribute(unit, DW_AT_rnglists_base);
  if (&sections == &tree_sections) return;
  // A split unit's table of lists begins behind the header of its section (DWARF 5, 7.28).
  lists_at_ = format.offset_bytes == 8 ? 20 : 12;
  if (!addresses_at_) addresses_at_ = number_attribute(unit, DW_AT_GNU_addr_base);
  old_lists_at_ = number_attribute(unit, DW_AT_GNU_ranges_base).value_or(0);
}

std::optional<std::uint64_t> CodeRanges::address_of(const RawValue& value) const {
  switch (value.form) {
    case DW_FORM_addr:
      return value.number;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
      break;
    default:
      return std::nullopt;
  }
  const auto section = sections_->addr;
  if (!addresses_at_ || *addresses_at_ > section.size()) return std::nullopt;
  ByteCursor cursor(section.subspan(*addresses_at_));
  if (value.number >= section.size()) return std::nullopt;
  cursor.skip(value.number * format_.address_bytes);
  const std::uint64_t address = read_number(cursor, format_.address_bytes);
  return cursor.failed() ? std::nullopt : std::optional(address);
}

bool CodeRanges::read(const FunctionDie& function, std::vector<Piece>* pieces,
                      WorkLimit& limit) const {
  if (function.ranges) {
    const std::size_t before = pieces->size();
    if (read_list(function.ranges, pieces, limit)) return true;
    pieces->resize(before);
    return false;
  }
  if (!function.low_pc || !function.high_pc) return !function.low_pc && !function.high_pc;
  const auto low = address_of(function.low_pc);
  if (!low) return false;
  switch (function.high_pc.form) {
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
    case DW_FORM_udata:
    case DW_FORM_implicit_const:
      pieces->push_back({*low, *low + function.high_pc.number});
      return true;
    default:
      break;
  }
  const auto high = address_of(function.high_pc);
  if (high) pieces->push_back({*low, *high});
  return high.has_value();
}

std::optional<std::uint64_t> CodeRanges::entry_of(const FunctionDie& function) const {
  if (!function.entry_pc) return address_of(function.low_pc);
  switch (function.entry_pc.form) {
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
    case DW_FORM_udata: {
      const auto low = address_of(function.low_pc);
      return low ? std::optional(*low + function.entry_pc.number) : std::nullopt;
    }
    default:
      return address_of(function.entry_pc);
  }
}

bool CodeRanges::read_list(const RawValue& ranges, std::vector<Piece>* pieces,
                           WorkLimit& limit) const {
  const bool is_old = format_.version < 5;
  const auto section = is_old ? sections_->ranges : tree_sections_->rnglists;
  std::uint64_t offset = ranges.number + (is_old ? old_lists_at_ : 0);
  if (ranges.form == DW_FORM_rnglistx) {
    if (!lists_at_ || *lists_at_ > section.size() || offset > section.size()) return false;
    ByteCursor cursor(section.subspan(*lists_at_));
    cursor.skip(offset * format_.offset_bytes);
    offset = *lists_at_ + read_number(cursor, format_.offset_bytes);
    if (cursor.failed()) return false;
  } else if (ranges.form != DW_FORM_sec_offset && ranges.form != DW_FORM_data4 &&
             ranges.form != DW_FORM_data8) {
    return false;
  }
  if (offset > section.size()) return false;
  const ByteCursor cursor(section.subspan(offset));
  return is_old ? read_pairs(cursor, pieces, limit) : read_entries(cursor, pieces, limit);
}

bool CodeRanges::read_pairs(ByteCursor cursor, std::vector<Piece>* pieces, WorkLimit& limit) const {
  const std::uint64_t base_follows = format_.address_bytes == 4 ? 0xFFFFFFFFu : ~std::uint64_t{0};
  std::uint64_t base = base_;
  while (!limit.step()) {
    const std::uint64_t begin = read_number(cursor, format_.address_bytes);
    const std::uint64_t end = read_number(cursor, format_.address_bytes);
    if (cursor.failed()) return false;
    if (begin == 0 && end == 0) return true;
    if (begin == base_follows) {
      base = end;
    } else {
      pieces->push_back({base + begin, base + end});
    }
  }
  return true;
}

bool CodeRanges::read_entries(ByteCursor cursor, std::vector<Piece>* pieces,
                              WorkLimit& limit) const {
  std::uint64_t base = base_;
  while (!limit.step()) {
    const std::uint8_t kind = cursor.u8();
    const auto number = [&] { return cursor.uleb(); };
    const auto address = [&] { return read_number(cursor, format_.address_bytes); };
    const auto indexed = [&] { return address_of({cursor.uleb(), DW_FORM_addrx}); };
    std::optional<std::uint64_t> begin, end;
    switch (kind) {
      case DW_RLE_end_of_list:
        return !cursor.failed();
      case DW_RLE_base_addressx:
        if (!(begin = indexed())) return false;
        base = *begin;
        continue;
      case DW_RLE_base_address:
        base = address();
        continue;
      case DW_RLE_startx_endx:
        begin = indexed();
        end = indexed();
        break;
      case DW_RLE_startx_length:
        begin = indexed();
        if (begin) end = *begin + number();
        break;
      case DW_RLE_offset_pair:
        begin = base + number();
        end = base + number();
        break;
      case DW_RLE_start_end:
        begin = address();
        end = address();
        break;
      case DW_RLE_start_length:
        begin = address();
        end = *begin + number();
        break;
      default:
        return false;
    }
    if (cursor.failed() || !begin || !end) return false;
    pieces->push_back({*begin, *end});
  }
  return true;
}

}  // namespace swipr::symbolize
