#include "symbolize/dwarf/abbreviations.h"

#include <dwarf.h>

#include <algorithm>

namespace swipr::symbolize {
namespace {

constexpr std::uint64_t kMaxNumber = 0xFFFF;  // DW_TAG_hi_user, and what names and forms end below

bool has_lower_code(const Abbreviation& left, const Abbreviation& right) {
  return left.code < right.code;
}

}  // namespace

std::optional<Abbreviations> Abbreviations::parse(std::span<const std::byte> section,
                                                  std::uint64_t offset, const UnitFormat& format,
                                                  WorkLimit& limit) {
  if (offset >= section.size()) return std::nullopt;
  ByteCursor cursor(section.subspan(offset));
  Abbreviations table;
  while (!limit.step()) {
    Abbreviation entry;
    entry.code = cursor.uleb();
    if (cursor.failed()) return std::nullopt;
    if (entry.code == 0) {
      // Compilers number them from 1 upwards; of equal ones the first counts.
      std::stable_sort(table.entries_.begin(), table.entries_.end(), has_lower_code);
      return table;
    }
    const std::uint64_t tag = cursor.uleb();
    entry.tag = static_cast<std::uint16_t>(std::min(tag, kMaxNumber));
    entry.has_children = cursor.u8() != DW_CHILDREN_no;
    if (!table.parse_attributes(cursor, format, &entry)) return std::nullopt;
    table.entries_.push_back(entry);
  }
  return std::nullopt;
}

bool Abbreviations::parse_attributes(ByteCursor& cursor, const UnitFormat& format,
                                     Abbreviation* entry) {
  entry->first = static_cast<std::uint32_t>(attributes_.size());
  while (!cursor.failed()) {
    const std::uint64_t name = cursor.uleb();
    const std::uint64_t form = cursor.uleb();
    if (name == 0 && form == 0) break;
    const auto layout = find_layout(form, format);
    if (!layout) return false;
    const std::int64_t constant = form == DW_FORM_implicit_const ? cursor.sleb() : 0;
    attributes_.push_back({static_cast<std::uint16_t>(std::min(name, kMaxNumber)),
                           static_cast<std::uint16_t>(form), *layout, constant});
    entry->is_fixed = entry->is_fixed && layout->shape == ValueShape::kFixed;
    entry->fixed_bytes += layout->bytes;
  }
  entry->count = static_cast<std::uint32_t>(attributes_.size()) - entry->first;
  return !cursor.failed();
}

const Abbreviation* Abbreviations::find(std::uint64_t code) const {
  if (code - 1 < entries_.size() && entries_[code - 1].code == code) return &entries_[code - 1];
  const auto found = std::lower_bound(
      entries_.begin(), entries_.end(), code,
      [](const Abbreviation& entry, std::uint64_t wanted) { return entry.code < wanted; });
  return found != entries_.end() && found->code == code ? &*found : nullptr;
}

}  // namespace swipr::symbolize
