// The sections of DWARF that are read without libdw, as they lie in memory.
#pragma once

#include <libelf.h>

#include <cstddef>
#include <span>

namespace swipr::symbolize {

// Empty: absent. Of a .dwo file those with that ending.
struct DwarfSections {
  std::span<const std::byte> info, abbrev, addr, line, line_str, str, ranges, rnglists;
  std::span<const std::byte> str_offsets, cu_index;  // of packages (.dwp)

  // Call it when libdw has opened the file, which expands what is compressed.
  // Lifetime: of what it gives, that of `elf`.
  static DwarfSections of(Elf* elf);
};

}  // namespace swipr::symbolize
