// DWARF sections that are read without libdw.
#pragma once

#include <libelf.h>

#include <cstddef>
#include <span>

namespace swipr::symbolize {

// Empty: absent. For .dwo files the sections with that suffix.
struct DwarfSections {
  std::span<const std::byte> info, abbrev, addr, line, line_str, str, ranges, rnglists;
  std::span<const std::byte> str_offsets, cu_index;  // of packages (.dwp)

  // Call after libdw has opened the file, which expands compressed sections.
  // Lifetime: that of `elf`.
  static DwarfSections of(Elf* elf);
};

}  // namespace swipr::symbolize
