// The abbreviation table of a unit: what follows each code in its tree.
// Source: DWARF 5, section 7.5.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "symbolize/base/work_limit.h"
#include "symbolize/dwarf/dwarf_forms.h"

namespace swipr::symbolize {

struct AttributeSpec {
  std::uint16_t name = 0;
  std::uint16_t form = 0;
  ValueLayout layout;
  std::int64_t constant = 0;  // DW_FORM_implicit_const: the value
};

struct Abbreviation {
  std::uint64_t code = 0;
  std::uint32_t first = 0, count = 0;  // of its attributes
  std::uint32_t fixed_bytes = 0;       // of all values together, if `is_fixed`
  std::uint16_t tag = 0;
  bool is_fixed = true;
  bool has_children = false;
};

class Abbreviations {
 public:
  // None: damaged, or the limit is reached.
  static std::optional<Abbreviations> parse(std::span<const std::byte> section,
                                            std::uint64_t offset, const UnitFormat& format,
                                            WorkLimit& limit);

  // Null: no such code.
  const Abbreviation* find(std::uint64_t code) const;
  std::span<const AttributeSpec> attributes_of(const Abbreviation& abbreviation) const {
    return std::span(attributes_).subspan(abbreviation.first, abbreviation.count);
  }
  std::size_t memory_bytes() const {
    return entries_.capacity() * sizeof(Abbreviation) +
           attributes_.capacity() * sizeof(AttributeSpec);
  }

 private:
  bool parse_attributes(ByteCursor& cursor, const UnitFormat& format, Abbreviation* entry);

  std::vector<Abbreviation> entries_;  // by code
  std::vector<AttributeSpec> attributes_;
};

}  // namespace swipr::symbolize
