// The code ranges of a function, in all encodings of DWARF 2 to 5.
// Source: DWARF 5, sections 2.17 and 7.25; DWARF 4, section 2.17.3.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "symbolize/dwarf/dwarf_sections.h"
#include "symbolize/dwarf/unit_tree.h"

namespace swipr::symbolize {

class CodeRanges {
 public:
  struct Piece {
    std::uint64_t begin, end;
  };

  // Of a skeleton, `tree_sections` are those of its split unit; else they are `sections`.
  // Lifetime: that of both.
  CodeRanges(const Dwarf_Die& unit, const UnitFormat& format, const DwarfSections& sections,
             const DwarfSections& tree_sections);

  // Returns false if only libdw can read them; `pieces` is unchanged then.
  bool read(const FunctionDie& function, std::vector<Piece>* pieces, WorkLimit& limit) const;

  // Entry address of a function with several pieces, if given.
  std::optional<std::uint64_t> entry_of(const FunctionDie& function) const;

 private:
  std::optional<std::uint64_t> address_of(const RawValue& value) const;
  bool read_list(const RawValue& ranges, std::vector<Piece>* pieces, WorkLimit& limit) const;
  bool read_pairs(ByteCursor cursor, std::vector<Piece>* pieces, WorkLimit& limit) const;
  bool read_entries(ByteCursor cursor, std::vector<Piece>* pieces, WorkLimit& limit) const;

  UnitFormat format_;
  const DwarfSections* sections_;
  const DwarfSections* tree_sections_;
  std::uint64_t base_ = 0;
  std::uint64_t old_lists_at_ = 0;
  std::optional<std::uint64_t> addresses_at_, lists_at_;
};

}  // namespace swipr::symbolize
